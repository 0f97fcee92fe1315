import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("WebSocketDeflateFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses the parameters. The rest is first what a server sends as compressed messages, one for each
/// third of it; then what this end compresses, which has to come out again.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let octets = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    inflate(octets, resets: choice & 1 != 0, limit: choice & 2 == 0 ? 1000 : 100_000)
    if octets.count <= 125 * 3 {
        roundTrip(octets, resets: choice & 1 != 0, windowBits: 9 + Int(choice >> 4) % 7)
    }
    return 0
}

private func parts(_ octets: [UInt8]) -> [ArraySlice<UInt8>] {
    let third = octets.count / 3
    return [octets[..<third], octets[third..<(2 * third)], octets[(2 * third)...]]
}

private func connection(_ compression: WebSocketCompression, limit: Int) -> WebSocketMachine {
    WebSocketMachine(
        maximumMessageSize: limit, compression: compression,
        maskingKeys: WebSocketMaskingKeys { $0.initializeMemory(as: UInt8.self, repeating: 0) })
}

/// A compressed binary message in one frame of a server.
private func frame(_ payload: some Collection<UInt8>) -> [UInt8] {
    var frame: [UInt8] = [0xC2]
    if payload.count < 126 {
        frame.append(UInt8(payload.count))
    } else {
        frame += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    }
    return frame + payload
}

private func inflate(_ octets: [UInt8], resets: Bool, limit: Int) {
    var machine = connection(WebSocketCompression(serverResets: resets), limit: limit)
    for part in parts(octets) {
        let frame = frame(part)
        let isOver = frame.withUnsafeBytes { octets in
            var input = octets
            do throws(WebSocketFailure) {
                while let event = try machine.receive(&input) {
                    guard case .message(false, let message) = event else { preconditionFailure("no binary message") }
                    precondition(message.count <= limit, "a message above the limit")
                }
                precondition(input.isEmpty, "input is left")
                return false
            } catch {
                return true
            }
        }
        if isOver { return }
    }
}

private func roundTrip(_ octets: [UInt8], resets: Bool, windowBits: Int) {
    var sender = connection(WebSocketCompression(clientResets: resets, clientWindowBits: windowBits), limit: 0)
    // The other end of the same agreement: what the client may keep, the reader has to keep.
    var reader = connection(WebSocketCompression(serverResets: resets), limit: 1000)
    for (index, part) in parts(octets).enumerated() {
        let message = WebSocketOctets(Array(part))
        precondition(sender.send(message, .whole(isText: false), number: index + 1), "a message is refused")
        var sent: [UInt8] = []
        precondition(sender.encode(into: &sent, limit: 1 << 20) == .done, "no memory")
        // The masking key is zero.
        var payload = sent[...]
        let short = Int(payload[payload.startIndex + 1] & 0x7F)
        precondition(sent[0] == 0xC2, "not compressed")
        payload = payload.dropFirst(short < 126 ? 6 : 8)
        let frame = frame(payload)
        let received = frame.withUnsafeBytes { octets in
            var input = octets
            return try? reader.receive(&input)
        }
        precondition(received == .message(isText: false, Array(part)), "another message comes out")
    }
}
