"""Files: data, models and exports."""
