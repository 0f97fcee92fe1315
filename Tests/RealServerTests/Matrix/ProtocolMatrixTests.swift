import TestSupport
import Testing

/// The same behaviours over each version of HTTP, with the same source, against whoever speaks it; and how many
/// connections that takes. What a server cannot show is in the table of `Gap`.
@Suite(
    .needs(.nginx), .needs(.apache2), .needs(.nghttpx), .needs(.caddy), .needs(.aioquic), .needs(.gtlsserver),
    .needsPacketCapture, .timeLimit(.minutes(2)))
enum ProtocolMatrixTests {}
