internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// WebSocket tasks.
extension TaskCore {
    private var webSocket: WebSocketState? { if case .webSocket(let state) = kind { state } else { nil } }

    var isWebSocket: Bool { webSocket != nil }

    // MARK: From the caller

    /// Performs an operation, on any thread. Operations before the connection is open are queued.
    func perform(_ operation: WebSocketOperation) {
        guard let webSocket else { return operation.fail(URLError(.unsupportedURL)) }
        let operation = operation.answered(by: answerer())
        let work: @Sendable () -> Void = { [self] in
            if ForkedProcess.isCurrent {
                operation.fail(shownError(.forkedProcess))
            } else if let load = webSocket.load {
                perform(operation, on: load)
            } else if hasEnded {
                operation.fail(shownError(endError ?? .webSocketIsClosed))
            } else {
                webSocket.earlyOperations.append(operation)
            }
        }
        // All operations of a task run on one thread, also those before it is resumed.
        if core.loop.serve() { core.loop.post(work) } else { WorkWithoutLoop.perform(work) }
    }

    func close(
        _ webSocket: WebSocketState, with code: URLSessionWebSocketTask.CloseCode, reason: Data?,
        _ task: URLSessionWebSocketTask
    ) {
        let isOver = locked { values in
            guard values.state == .running || values.state == .suspended else { return true }
            // The server's close frame was first.
            if webSocket.closeCode != .invalid { return false }
            webSocket.closeCode = code
            webSocket.closeReason = reason
            return false
        }
        if isOver { return }
        guard core.loop.isServed else { return cancel(task) }
        let frame = WebSocketCloseFrame(
            code: UInt16(exactly: code.rawValue), reason: WebSocketCloseFrame.fitting([UInt8](reason ?? Data())))
        core.loop.post { [self] in
            if let load = webSocket.load { load.close(frame) } else { cancel(task) }
        }
    }

    func setMaximumMessageSize(_ size: Int, _ webSocket: WebSocketState) {
        locked { _ in webSocket.maximumMessageSize = size }
        // The current value is read on the loop, because concurrent calls may be posted in another order.
        guard core.loop.isServed else { return }
        core.loop.post { [self] in webSocket.load?.maximumMessageSize = locked { _ in webSocket.maximumMessageSize } }
    }

    func setPingInterval(_ interval: Int64?, _ webSocket: WebSocketState) {
        locked { _ in webSocket.pingInterval = interval }
        guard core.loop.isServed else { return }
        core.loop.post { [self] in webSocket.load?.setPingInterval(locked { _ in webSocket.pingInterval }) }
    }

    // MARK: On the loop

    /// Starts the opening handshake.
    func beginWebSocket() {
        guard !hasEnded, load == nil else { return }
        do throws(LoadError) {
            let current = currentRequest ?? originalRequest
            // Redirects may lead to HTTP's schemes, which a program may not give (WS-1).
            switch current.url?.scheme?.lowercased() {
            case "ws", "wss": break
            default: throw .unsupportedURL
            }
            let request = try LoadRequest(
                current, of: core, without: droppedFields, body: LoadBody.none, priority: priority, isWebSocket: true)
            guard webSocket?.isValid == true, WebSocketHandshake.subprotocols(in: request.fields) != nil else {
                throw .badURL
            }
            let load = HTTPLoad(request, in: core.environment, destination: .pieces, log: log, client: self)
            load.webSocketOffer = WebSocketOffer(compression: core.configuration.enablesWebSocketCompression)
            self.load = load
            if state == .suspended { load.suspend() }
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    /// The response to the opening handshake. The load waits for the answer, which is given when it has let go of what it holds
    /// while it calls.
    func receiveHandshake(_ response: LoadResponse, _ load: any Load) -> ClientAnswer<Void> {
        guard let load = load as? HTTPLoad, let webSocket else { return .now }
        let outcome = Result { () throws(LoadError) in try load.agreement(by: response.head) }
        let proceed = LoopBox({ [self] in
            guard self.load === load, !load.hasEnded else { return }
            switch outcome {
            case .success(let agreement): open(webSocket, over: load, agreement)
            case .failure(let error): load.cancel(error)
            }
        })
        core.loop.post { proceed.value() }
        return .later
    }

    private func open(
        _ webSocket: WebSocketState, over load: HTTPLoad, _ agreement: WebSocketHandshake.Agreement
    ) {
        let (size, pingInterval) = locked { _ in (webSocket.maximumMessageSize, webSocket.pingInterval) }
        guard let opened = load.becomeWebSocket(agreement, maximumMessageSize: size, client: self) else {
            return load.cancel(.networkConnectionLost)
        }
        self.load = opened
        webSocket.load = opened
        bytesExpectedToReceive.store(NSURLSessionTransferSizeUnknown, ordering: .relaxed)
        enqueue(.webSocketOpened(subprotocol: agreement.subprotocol))
        if state == .suspended { opened.suspend() }
        let operations = webSocket.earlyOperations
        webSocket.earlyOperations = []
        for operation in operations { perform(operation, on: opened) }
        if let pingInterval { opened.setPingInterval(pingInterval) }
        opened.start(.first)
    }

    private func perform(_ operation: WebSocketOperation, on load: WebSocketLoad) {
        switch operation {
        case .send(let payload, let part, let handler):
            load.send(payload, part) { [self] error in handler(error.map { shownError($0) }) }
        case .receive(let handler):
            load.receive { [self] outcome in
                switch outcome {
                case .success(let message): handler(.success(message))
                case .failure(let error): handler(.failure(shownError(error)))
                }
            }
        case .ping(let handler):
            load.ping { [self] error in handler(error.map { shownError($0) }) }
        }
    }

    /// Fails the operations of a connection that was never open, and notes how an open one has ended.
    func endWebSocket(_ error: LoadError?) {
        guard let webSocket else { return }
        if webSocket.load != nil, let error, error != .cancelled {
            locked { _ in if webSocket.closeCode == .invalid { webSocket.closeCode = .abnormalClosure } }
        }
        let operations = webSocket.earlyOperations
        webSocket.earlyOperations = []
        for operation in operations { operation.fail(shownError(error ?? .webSocketIsClosed)) }
    }
}

extension TaskCore: WebSocketClient {
    func load(_ load: WebSocketLoad, didRead count: Int) {
        bytesReceived.wrappingAdd(Int64(count), ordering: .relaxed)
        updateProgress()
    }

    func load(_ load: WebSocketLoad, didWrite count: Int) {
        bytesSent.wrappingAdd(Int64(count), ordering: .relaxed)
        updateProgress()
    }

    func load(_ load: WebSocketLoad, didCloseWith code: UInt16, reason: [UInt8]) {
        guard let webSocket, let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) else { return }
        let reason = Data(reason)
        locked { _ in (webSocket.closeCode, webSocket.closeReason) = (code, reason) }
        enqueue(.webSocketClosed(code, reason: reason))
    }
}

extension SessionCore {
    /// - Parameter isValid: False if the request lacks subprotocols that cannot be written in a field.
    func webSocketTask(
        _ session: URLSession, _ request: URLRequest, isValid: Bool = true
    ) -> URLSessionWebSocketTask? {
        // A connection cannot outlive the process, as transfers in the background do (T-50).
        precondition(configuration.identifier == nil, "a background session has no WebSocket tasks")
        return makeTask(
            session, .webSocket(WebSocketState(isValid: isValid)), request, request, .delegate, delegate: nil
        ) {
            URLSessionWebSocketTask(core: $0)
        }
    }
}
