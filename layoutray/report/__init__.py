"""Pictures that people look at: pages with answers, curves, confusions."""
