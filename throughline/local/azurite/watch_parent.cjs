// Loaded into Azurite before it starts: ends it when its parent is gone, however that ended. The parent holds the
// other end of stdin and never writes. Unlike Linux' PR_SET_PDEATHSIG this watches the process, not one thread.
process.stdin.on("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
process.stdin.unref();
