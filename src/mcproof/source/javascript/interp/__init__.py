"""An interpreter of JavaScript without its side effects: values are exact, or unknown with a reason.

Both sides of a branch are followed where its condition is unknown. It knows no framework: what it meets of other
packages it passes to a `Host`.
"""
