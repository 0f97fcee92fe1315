internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics

/// A call of `send` or `sendPing`, from the caller to the loop and back, with the message as it is sent. Closures that
/// capture nothing but this object need no object of their own.
final class WebSocketCall: Sendable {
    private let core: TaskCore
    private let operation: WebSocketOperation
    private let caller: TaskCaller
    /// Whether the end of the task waits for the answer.
    private let isPromised: Bool
    private let handler: WebSocketOperation.Handler

    init(
        core: TaskCore, operation: consuming WebSocketOperation, caller: TaskCaller, isPromised: Bool,
        handler: consuming @escaping WebSocketOperation.Handler
    ) {
        self.core = core
        self.operation = operation
        self.caller = caller
        self.isPromised = isPromised
        self.handler = handler
    }

    /// On the loop.
    func perform() {
        if ForkedProcess.isCurrent {
            reply(.forkedProcess)
        } else if let load = core.webSocket?.load {
            perform(on: load)
        } else if core.hasEnded {
            reply(core.endError ?? .webSocketIsClosed)
        } else {
            core.webSocket?.earlyCalls.append(self)
        }
    }

    func perform(on load: WebSocketLoad) {
        switch operation {
        case .send(_, let part): load.send(self, part) { self.reply($0) }
        case .ping: load.ping { self.reply($0) }
        }
    }

    func reply(_ error: LoadError?) {
        core.answer(caller, isPromised, .sent(handler, error.map { core.shownError($0) }))
    }
}

extension WebSocketCall: WebSocketPayload {
    var count: Int {
        switch operation {
        case .send(.data(let data), _): data.count
        case .send(.string(let text), _): text.utf8.count
        case .ping: 0
        }
    }

    func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        switch operation {
        case .send(.data(let data), _): data.withUnsafeBytes(body)
        case .send(.string(var text), _): text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
        case .ping: break
        }
    }
}

/// An operation of a WebSocket task, which its loop performs.
enum WebSocketOperation: Sendable {
    case send(URLSessionWebSocketTask.Message, WebSocketLoad.MessagePart)
    case ping

    typealias Handler = @Sendable ((any Error)?) -> Void
}
