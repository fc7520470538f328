"""Pictures for people: pages with answers, attention maps, training curves, confusion matrices."""
