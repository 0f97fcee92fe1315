import TestSupport
import Testing

/// The same tests over each HTTP version against each server that supports it, including the number of connections. The
/// table of `UnsupportedCase` lists what a server does not support.
@Suite(
    .needs(.nginx), .needs(.apache2), .needs(.nghttpx), .needs(.caddy), .needs(.aioquic), .needs(.gtlsserver),
    .needsPacketCapture, .timeLimit(.minutes(2)))
enum ProtocolMatrixTests {}
