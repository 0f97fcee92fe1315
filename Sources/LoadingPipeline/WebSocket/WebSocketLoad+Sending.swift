internal import LoadingConnections
internal import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
internal import LoadingTransport

/// The half that writes: messages and pings, as the connection takes them, and the answers about them.
extension WebSocketLoad {
    /// Called without an error when it has happened.
    package typealias Reply = (LoadError?) -> Void

    /// What a payload is: a message, or a part of the message with a number that the client has chosen.
    package enum MessagePart: Sendable {
        case whole(isText: Bool)
        case part(WebSocketMachine.Part, of: Int)

        var framing: WebSocketMachine.Part {
            switch self {
            case .whole(let isText): .whole(isText: isText)
            case .part(let part, _): part
            }
        }

        var isText: Bool {
            switch framing {
            case .whole(let isText), .first(let isText): isText
            case .middle, .last: false
            }
        }
    }

    /// A message, or a part of one, that is not sent yet.
    struct Sender {
        let number: Int
        let isText: Bool
        let count: Int
        let reply: Reply
    }

    private static let outputLength = 64 * 1024
    /// An output buffer larger than this is released when it is empty.
    private static let keptOutput = 4 * 1024

    // MARK: From the client

    package func send(
        _ payload: consuming any WebSocketPayload, _ part: MessagePart, reply: consuming @escaping Reply
    ) {
        loop.checkConfinement(of: "A load")
        if !hasEnded, !hasWriteFailed, machine.isOpen, mustWait(part) {
            delayed.append((payload, part, reply))
        } else {
            add(payload, part, reply)
            while let next = delayed.popFirst(where: { !mustWait($0.part) }) {
                add(next.payload, next.part, next.reply)
            }
            scheduleWriteAndRead()
        }
    }

    /// Whether another message has begun, or others wait for that.
    private func mustWait(_ part: MessagePart) -> Bool {
        guard let openMessage else { return false }
        if case .part(_, openMessage) = part { return false }
        return true
    }

    private func add(
        _ payload: consuming any WebSocketPayload, _ part: MessagePart, _ reply: consuming @escaping Reply
    ) {
        lastNumber += 1
        let count = payload.count
        guard !hasEnded, !hasWriteFailed, machine.send(payload, part.framing, number: lastNumber) else {
            return reply(lateError ?? writeFailure ?? .webSocketIsClosed)
        }
        if case .part(let framing, let message) = part { openMessage = framing == .last ? nil : message }
        senders.append(Sender(number: lastNumber, isText: part.isText, count: count, reply: reply))
    }

    package func ping(reply: @escaping Reply) {
        loop.checkConfinement(of: "A load")
        guard !hasEnded, !hasWriteFailed, let number = machine.ping() else {
            return reply(lateError ?? writeFailure ?? .webSocketIsClosed)
        }
        log?.traceOnly(.webSocketPing(isSent: true))
        pings.append((number, reply))
        scheduleWriteAndRead()
    }

    // MARK: The connection

    func write(to connection: any WebSocketTransport) {
        var budget = Self.budget
        while !hasWriteFailed, outputHead < output.count || encode(orElse: end(.outOfMemory)) {
            guard budget > 0 else { return connection.callAgain() }
            // Retained, since the connection is called.
            let octets = output
            let written = octets.withUnsafeBytes { octets in
                connection.write(UnsafeRawBufferPointer(rebasing: octets[outputHead...]))
            }
            switch written {
            case .bytes(0), .wouldBlock: return
            case .bytes(let count):
                outputHead += count
                budget -= count
                if !connection.buffersWrites { sent(count) }
            case .failed(let failure): writeFailure = LoadError(failure)
            }
        }
    }

    /// Encodes what waits. False if nothing does, or memory is exhausted.
    private func encode(orElse fail: @autoclosure () -> Void) -> Bool {
        if outputHead > 0 {
            outputHead = 0
            if output.capacity > Self.keptOutput { output = [] } else { output.removeAll(keepingCapacity: true) }
        }
        guard !hasEnded, machine.hasOutput, !hasCompressed else { return false }
        switch machine.encode(into: &output, limit: Self.outputLength) {
        case .done: break
        case .pausing:
            hasCompressed = true
            connection?.callAgain()
        case .outOfMemory:
            fail()
            return false
        }
        return !output.isEmpty
    }

    /// What waits to be sent, or a part of it, which the transport then has. Makes no calls.
    func takeOutput() -> ArraySlice<UInt8>? {
        guard !isSuspended, !hasEnded, !hasWriteFailed, outputHead < output.count || encode(orElse: failLater())
        else { return nil }
        defer { outputHead = output.count }
        return output[outputHead...]
    }

    private func failLater() {
        writeFailure = .outOfMemory
        connection?.callAgain()
    }

    /// Octets that the transport had taken have left its buffers.
    func transportSent(_ count: Int) {
        sent(count)
        // After the call, in which the transport may be sending.
        guard machine.isClosed else { return }
        connection?.callAgain()
    }

    private func sent(_ count: Int) {
        machine.sent(count)
        client?.load(self, didWrite: count)
        // The messages that wait are sent before the close frame, however long the connection takes for them. A server
        // that has closed reads only to see this end's close frame.
        if deadlines.closing != nil, machine.receivedClose == nil {
            deadlines.closing = loop.now &+ loop.limits.webSocketClose
        }
        while let number = machine.nextSent() {
            guard let sender = senders.popFirst(where: { $0.number <= number }) else { return }
            log?.traceOnly(.webSocketMessage(isSent: true, isText: sender.isText, bytes: sender.count))
            sender.reply(nil)
        }
    }

    /// Writes what the connection takes at once.
    func writeLast() {
        while let connection {
            if outputHead == output.count {
                outputHead = 0
                output.removeAll(keepingCapacity: true)
                guard machine.hasOutput, machine.encode(into: &output, limit: Self.outputLength) == .done,
                    !output.isEmpty
                else { return }
            }
            let octets = output
            let written = octets.withUnsafeBytes { octets in
                connection.write(UnsafeRawBufferPointer(rebasing: octets[outputHead...]))
            }
            guard case .bytes(let count) = written, count > 0 else { return }
            outputHead += count
        }
    }

    // MARK: The end

    func failOperations(_ error: LoadError) {
        failSenders(error)
        while let ping = pings.popFirst() { ping.reply(error) }
    }

    func failSenders(_ error: LoadError) {
        while let sender = senders.popFirst() { sender.reply(error) }
        while let next = delayed.popFirst() { next.reply(error) }
    }
}
