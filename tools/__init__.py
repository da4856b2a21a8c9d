"""Scripts for developers of lineprof; `make help` lists them.

`tools/run dev/suite` runs the module tools.dev.suite from the checkout's root.
"""
