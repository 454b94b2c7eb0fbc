"""The parts of the HTML report: its style, its script, and the sections that `report.html` puts together."""
