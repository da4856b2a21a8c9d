"""HTTP server of reports that follow their profiles.

`access` decides who may ask, `site` answers, `server` listens. The profiles are those
of `profiles`; `renderings` keeps their reports, `pages` the pages around these.
"""
