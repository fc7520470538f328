"""Runs, models and versions in MLflow. No other package imports it."""
