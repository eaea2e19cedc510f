-- What `wrk` sends: README.md of the project, which the server counts the words of.
wrk.method = "POST"
wrk.body = io.open(os.getenv("RIVERRUN_REQUESTS_BODY"), "rb"):read("*a")
