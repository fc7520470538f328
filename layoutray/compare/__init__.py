"""Which of several trainings is the best, and what more labels would bring."""
