"""Sections of reports for text and Markdown: one module for each kind of result.

HTML has its own views in `report.html`; what a section says in words is in `phrases`, its grids in `grids`.
"""
