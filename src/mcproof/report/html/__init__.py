"""One self-contained HTML page: Jinja2 templates with autoescape, and the views that they show."""
