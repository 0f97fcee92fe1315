internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics

/// A call of `send` or `sendPing`, from the caller to the loop and back. Closures that capture nothing but this object need no object
/// of their own.
final class WebSocketCall: Sendable {
    private let core: TaskCore
    private let webSocket: WebSocketState
    private let operation: WebSocketOperation
    private let caller: TaskCaller
    /// Whether the end of the task waits for the answer.
    private let isPromised: Bool
    private let handler: WebSocketOperation.Handler

    init(
        core: TaskCore, webSocket: WebSocketState, operation: WebSocketOperation, caller: TaskCaller, isPromised: Bool,
        handler: @escaping WebSocketOperation.Handler
    ) {
        self.core = core
        self.webSocket = webSocket
        self.operation = operation
        self.caller = caller
        self.isPromised = isPromised
        self.handler = handler
    }

    /// On the loop.
    func perform() {
        if ForkedProcess.isCurrent {
            reply(.forkedProcess)
        } else if let load = webSocket.load {
            perform(on: load)
        } else if core.hasEnded {
            reply(core.endError ?? .webSocketIsClosed)
        } else {
            webSocket.earlyCalls.append(self)
        }
    }

    func perform(on load: WebSocketLoad) {
        switch operation {
        case .send(let payload, let part): load.send(payload, part) { self.reply($0) }
        case .ping: load.ping { self.reply($0) }
        }
    }

    func reply(_ error: LoadError?) {
        core.answer(caller, isPromised, .sent(handler, error.map { core.shownError($0) }))
    }
}

/// An operation of a WebSocket task, which its loop performs.
enum WebSocketOperation: Sendable {
    case send(any WebSocketPayload, WebSocketLoad.MessagePart)
    case ping

    typealias Handler = @Sendable ((any Error)?) -> Void
}
