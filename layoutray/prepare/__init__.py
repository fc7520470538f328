"""From files to PAGES and from PAGES to EXAMPLES, one piece of work at a time; runs where there is no Ray."""
