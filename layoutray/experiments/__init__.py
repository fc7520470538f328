"""What MLflow's UI shows of trainings: experiments, names of metrics, descriptions, and where runs come from."""
