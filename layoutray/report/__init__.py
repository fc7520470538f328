"""Pictures for people: pages with answers, attention maps, confusion matrices."""
