internal import CTestTLS
internal import Foundation
internal import Glibc

/// A message bus that says what no honest one does. It answers one connection at a time, on its own thread.
///
///     let bus = try ScriptedBus { call in call.member == "ServiceBrowserNew" ? [.reply([.int32(1)])] : nil }
///     defer { bus.stop() }
package final class ScriptedBus: Sendable {
    package struct Call: Sendable, Hashable {
        package let member: String
        package let path: String
        fileprivate let serial: UInt32
    }

    package indirect enum Value: Sendable {
        case boolean(Bool)
        case variant(Value)
        case uint16(UInt16)
        case int32(Int32)
        case uint32(UInt32)
        case text(String)
        case path(String)
        /// `aay`.
        case byteArrays([[UInt8]])
        /// An array in arrays, this many levels deep, with one byte.
        case nested(Int)
        /// `as`.
        case texts([String])

        fileprivate var signature: String {
            switch self {
            case .boolean: "b"
            case .variant: "v"
            case .uint16: "q"
            case .int32: "i"
            case .uint32: "u"
            case .text: "s"
            case .path: "o"
            case .byteArrays: "aay"
            case .nested(let depth): String(repeating: "a", count: depth) + "y"
            case .texts: "as"
            }
        }
    }

    package enum Step: Sendable {
        case reply([Value])
        case error(String)
        case signal(path: String, member: String, [Value], sender: String = ScriptedBus.daemon)
        /// Bytes that need not be a message.
        case raw([UInt8])
        case close
    }

    /// The daemon's name on the bus.
    package static let daemon = ":1.7"

    package var address: String { "unix:path=\(directory.path)/bus" }
    /// How often clients have connected.
    package var connections: Int { state.current.connections }
    /// The methods that were called, in order.
    package var calls: [Call] { state.current.calls }

    private struct State {
        var calls: [Call] = []
        /// The open connection; -1 without one.
        var connection: Int32 = -1
        var serial: UInt32 = 1000
        var connections = 0
    }

    private let directory: TemporaryDirectory
    private let listener: Int32
    private let stopSwitch: StopSwitch
    private let thread: JoinableThread
    private let state: Watched<State>

    /// - Parameter answer: Returns what follows a call; nil for what an honest bus, and Avahi without services, do.
    package init(_ answer: @escaping @Sendable (Call) -> [Step]?) throws {
        let directory = try TemporaryDirectory()
        let stopSwitch = try StopSwitch()
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw POSIXFailure("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(directory.path)/bus".utf8) }
        let isBound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(listener, 8) == 0 else {
            close(listener)
            throw POSIXFailure("bind")
        }
        let state = Watched(State())
        self.directory = directory
        self.listener = listener
        self.stopSwitch = stopSwitch
        self.state = state
        thread = try JoinableThread(name: "test-bus") {
            while Self.waitForInput(of: listener, stopSwitch) {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                state.withValue {
                    $0.connection = connection
                    $0.connections += 1
                }
                Self.serve(connection, stopSwitch, state, answer)
                state.withValue { $0.connection = -1 }
                close(connection)
            }
        }
    }

    /// Must be called once.
    package func stop() {
        stopSwitch.stop()
        thread.join()
        close(listener)
    }

    /// Says something without being called, on the open connection.
    package func say(_ steps: Step...) {
        state.withValue { state in
            for step in steps { _ = Self.perform(step, for: nil, on: state.connection, &state.serial) }
        }
    }

    /// Waits for a call of this method.
    @discardableResult
    package func waitForCall(of member: String, count: Int = 1) throws -> [Call] {
        try state.wait(for: "\(count) calls of \(member)") { state in
            let calls = state.calls.filter { $0.member == member }
            return calls.count >= count ? calls : nil
        }
    }

    /// Waits until the last connection is closed by the client.
    package func waitForEnd() throws {
        try state.wait(for: "the end of the connection") { $0.connections > 0 && $0.connection < 0 ? () : nil }
    }

    // MARK: The thread

    private static func waitForInput(of descriptor: Int32, _ stop: StopSwitch) -> Bool {
        var polled = [descriptor, stop.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        return polled[1].revents == 0
    }

    private static func serve(
        _ connection: Int32, _ stop: StopSwitch, _ state: Watched<State>, _ answer: (Call) -> [Step]?
    ) {
        var input: [UInt8] = []
        var isAuthenticated = false
        while waitForInput(of: connection, stop) {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return }
            input += buffer.prefix(count)
            while !isAuthenticated, let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: input[...end].drop { $0 == 0 }, as: UTF8.self)
                input.removeSubrange(...end)
                isAuthenticated = line.hasPrefix("BEGIN")
                let reply = line.hasPrefix("AUTH") ? "OK 0123456789abcdef0123456789abcdef\r\n" : "ERROR\r\n"
                if !isAuthenticated { send(Array(reply.utf8), on: connection) }
            }
            while isAuthenticated, let call = takeCall(from: &input) {
                state.withValue { $0.calls.append(call) }
                for step in answer(call) ?? honest(call) {
                    let goesOn = state.withValue { perform(step, for: call, on: connection, &$0.serial) }
                    if !goesOn { return }
                }
            }
        }
    }

    private static func honest(_ call: Call) -> [Step] {
        switch call.member {
        case "Hello": [.reply([.text(":1.42")])]
        case "StartServiceByName": [.reply([.uint32(2)])]
        case "GetNameOwner": [.reply([.text(daemon)])]
        case "ServiceBrowserNew", "DomainBrowserNew", "ServiceResolverNew", "EntryGroupNew":
            [.reply([.path("/Client1/\(call.member)\(call.serial)")])]
        default: [.reply([])]
        }
    }

    /// Returns false if the connection is over.
    private static func perform(
        _ step: Step, for call: Call?, on connection: Int32, _ serial: inout UInt32
    ) -> Bool {
        serial += 1
        switch step {
        case .reply(let values):
            let fields = [
                field(5, .uint32(call?.serial ?? 0)), field(7, .text(call?.isOfBus == true ? busName : daemon)),
            ]
            send(message(2, fields, values, serial), on: connection)
        case .error(let name):
            let fields = [field(4, .text(name)), field(5, .uint32(call?.serial ?? 0)), field(7, .text(busName))]
            send(message(3, fields, [.text("no")], serial), on: connection)
        case .signal(let path, let member, let values, let sender):
            let fields = [
                field(1, .path(path)), field(2, .text(sender == busName ? busName : "org.freedesktop.Avahi.Any")),
                field(3, .text(member)), field(7, .text(sender)),
            ]
            send(message(4, fields, values, serial), on: connection)
        case .raw(let bytes): send(bytes, on: connection)
        case .close: return false
        }
        return true
    }

    /// The bus's own name.
    package static let busName = "org.freedesktop.DBus"

    private static func send(_ bytes: [UInt8], on connection: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    // MARK: Messages (D-Bus Specification, "Message Protocol")

    private static func message(_ type: UInt8, _ fields: [[UInt8]], _ values: [Value], _ serial: UInt32) -> [UInt8] {
        var body: [UInt8] = []
        for value in values { append(value, to: &body) }
        var fields = fields
        if !values.isEmpty { fields.append(signatureField(values.map(\.signature).joined())) }
        var array: [UInt8] = []
        for field in fields {
            align(&array, 8)
            array += field
        }
        var message: [UInt8] = [UInt8(ascii: "l"), type, 1, 1]
        append(.uint32(UInt32(body.count)), to: &message)
        append(.uint32(serial), to: &message)
        append(.uint32(UInt32(array.count)), to: &message)
        message += array
        align(&message, 8)
        return message + body
    }

    private static func field(_ code: UInt8, _ value: Value) -> [UInt8] {
        // The variant's signature ends before the alignment of its value.
        var bytes: [UInt8] = [code, 1] + value.signature.utf8 + [0]
        append(value, to: &bytes)
        return bytes
    }

    private static func signatureField(_ signature: String) -> [UInt8] {
        [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.utf8.count)] + signature.utf8 + [0]
    }

    private static func align(_ bytes: inout [UInt8], _ size: Int) {
        while bytes.count % size != 0 { bytes.append(0) }
    }

    private static func append(_ value: Value, to bytes: inout [UInt8]) {
        func number(_ number: UInt32) {
            align(&bytes, 4)
            for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
        }
        func text(_ text: String) {
            number(UInt32(text.utf8.count))
            bytes += Array(text.utf8) + [0]
        }
        /// The length of an array counts from after it.
        func array(_ body: () -> Void) {
            number(0)
            let start = bytes.count
            body()
            let length = UInt32(bytes.count - start)
            for (index, shift) in [0, 8, 16, 24].enumerated() {
                bytes[start - 4 + index] = UInt8(truncatingIfNeeded: length >> UInt32(shift))
            }
        }
        switch value {
        case .uint16(let number):
            align(&bytes, 2)
            bytes += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
        case .boolean(let value): number(value ? 1 : 0)
        case .variant(let value):
            bytes += [UInt8(value.signature.utf8.count)] + value.signature.utf8 + [0]
            append(value, to: &bytes)
        case .int32(let value): number(UInt32(bitPattern: value))
        case .uint32(let value): number(value)
        case .text(let value), .path(let value): text(value)
        case .byteArrays(let arrays): array { for one in arrays { array { bytes += one } } }
        case .texts(let texts): array { for one in texts { text(one) } }
        case .nested(let depth):
            func nest(_ depth: Int) {
                array { if depth > 1 { nest(depth - 1) } else { bytes.append(1) } }
            }
            nest(depth)
        }
    }

    /// Takes a whole message from the input, which is in this machine's byte order.
    private static func takeCall(from input: inout [UInt8]) -> Call? {
        func number(_ offset: Int) -> Int {
            guard offset + 4 <= input.count else { return 0 }
            return (0..<4).reduce(0) { $0 | Int(input[offset + $1]) << (8 * $1) }
        }
        guard input.count >= 16 else { return nil }
        let fieldsEnd = 16 + number(12)
        let total = (fieldsEnd + 7) / 8 * 8 + number(4)
        guard input.count >= total else { return nil }
        var texts: [UInt8: String] = [:]
        var offset = 16
        while offset + 8 <= fieldsEnd {
            let (code, type) = (input[offset], input[offset + 2])
            switch type {
            case UInt8(ascii: "s"), UInt8(ascii: "o"):
                let start = offset + 8
                let end = min(start + number(offset + 4), fieldsEnd)
                texts[code] = String(decoding: input[start..<end], as: UTF8.self)
                offset = end + 1
            case UInt8(ascii: "g"): offset += 5 + Int(input[offset + 4]) + 1
            default: offset += 8
            }
            offset = (offset + 7) / 8 * 8
        }
        let call = Call(member: texts[3] ?? "", path: texts[1] ?? "", serial: UInt32(number(8)))
        input.removeFirst(total)
        return call
    }
}

extension ScriptedBus.Call {
    fileprivate var isOfBus: Bool { path == "/org/freedesktop/DBus" }
}
