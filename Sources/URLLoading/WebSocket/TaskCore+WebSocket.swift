internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// WebSocket tasks.
extension TaskCore {
    // MARK: From the caller

    /// Performs an operation, on any thread. Operations before the connection is open are queued.
    func perform(
        _ operation: consuming WebSocketOperation, for caller: TaskCaller = .handler,
        _ handler: consuming @escaping WebSocketOperation.Handler
    ) {
        guard webSocket != nil else { return handler(URLError(.unsupportedURL)) }
        let call = WebSocketCall(
            core: self, operation: operation, caller: caller, isPromised: promiseAnswer(), handler: handler)
        // All operations of a task run on one thread, also those before it is resumed.
        runOnLoop(for: caller) { call.perform() }
    }

    /// A message that has been received and that no earlier call waits for.
    func takeMessage() -> URLSessionWebSocketTask.Message? {
        guard let webSocket, loop.isServed else { return nil }
        lock.lock()
        let taken = mayTakeMessage(webSocket) ? webSocket.inbox.takeMessage(for: .continuation) : nil
        lock.unlock()
        if taken?.mustRead == true { readOn(webSocket) }
        return taken?.message
    }

    /// Receives the next message, on any thread. Calls wait also before the connection is open.
    func receive(for caller: TaskCaller = .handler, _ handler: @escaping WebSocketInbox.Receiver.Handler) {
        guard let webSocket else { return handler(.failure(URLError(.unsupportedURL))) }
        guard loop.serve() else { return receiveWithoutLoop(webSocket, caller, handler) }
        lock.lock()
        // The last reference to the task may be released here, and its end acquires the lock.
        let task = values.task ?? values.knownTask
        let isPromised = task != nil && events.promise()
        let taken = mayTakeMessage(webSocket) ? webSocket.inbox.takeMessage(for: caller) : nil
        let late = webSocket.inbox.lateError
        var endWaits = false
        if taken == nil, late == nil {
            endWaits = webSocket.inbox.wait(
                WebSocketInbox.Receiver(caller: caller, isPromised: isPromised, handler: handler))
        }
        lock.unlock()
        withExtendedLifetime(task) {}
        if let taken {
            deliver(.received(handler, .success(taken.message)), to: caller, isPromised: isPromised)
            // Afterwards, because the end may wait for it, and follows the message.
            if taken.mustRead { readOn(webSocket) }
        } else if let late {
            deliver(.received(handler, .failure(shownError(late))), to: caller, isPromised: isPromised)
        } else if endWaits {
            readOn(webSocket)
        }
    }

    /// In a forked process, or when the system cannot start a thread.
    private func receiveWithoutLoop(
        _ webSocket: WebSocketState, _ caller: TaskCaller, _ handler: @escaping WebSocketInbox.Receiver.Handler
    ) {
        let isPromised = promiseAnswer()
        WorkWithoutLoop.perform { [self] in
            let error: LoadError? = locked { _ in
                if ForkedProcess.isCurrent { return .forkedProcess }
                if let late = webSocket.inbox.lateError { return late }
                webSocket.inbox.wait(
                    WebSocketInbox.Receiver(caller: caller, isPromised: isPromised, handler: handler))
                return nil
            }
            if let error { answer(caller, isPromised, .received(handler, .failure(shownError(error)))) }
        }
    }

    /// Whether the state of the task lets messages out. The load may not know of a call of `suspend` or `cancel` yet.
    /// Called with the lock held.
    private func mayTakeMessage(_ webSocket: WebSocketState) -> Bool {
        values.state == .running || webSocket.inbox.lateError != nil
    }

    private func readOn(_ webSocket: WebSocketState) { loop.post { webSocket.load?.resumeReading() } }

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
        guard loop.isServed else { return cancel(task) }
        let frame = WebSocketCloseFrame(
            code: UInt16(exactly: code.rawValue), reason: WebSocketCloseFrame.fitting([UInt8](reason ?? Data())))
        loop.post { [self] in
            if let load = webSocket.load {
                load.close(frame)
            } else if !hasEnded {
                // Not connected yet. An end that is not delivered yet keeps its error.
                cancel(task)
            }
        }
    }

    func setMaximumMessageSize(_ size: Int, _ webSocket: WebSocketState) {
        locked { _ in webSocket.maximumMessageSize = size }
        // The current value is read on the loop, because concurrent calls may be posted in another order.
        guard loop.isServed else { return }
        loop.post { [self] in webSocket.load?.maximumMessageSize = locked { _ in webSocket.maximumMessageSize } }
    }

    func setPingInterval(_ interval: Int64?, _ webSocket: WebSocketState) {
        locked { _ in webSocket.pingInterval = interval }
        guard loop.isServed else { return }
        loop.post { [self] in webSocket.load?.setPingInterval(locked { _ in webSocket.pingInterval }) }
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
            let request = try loadRequest(current, body: LoadBody.none)
            guard webSocket?.isValid == true, WebSocketHandshake.subprotocols(in: request.fields) != nil else {
                throw .badURL
            }
            showAdditionalFields(in: current)
            let load = HTTPLoad(request, in: core.environment, destination: .pieces, log: log, client: self)
            load.webSocketOffer = WebSocketOffer(compression: core.configuration.enablesWebSocketCompression)
            self.load = load
            if state == .suspended { load.suspend() }
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    /// The response to the opening handshake. The load waits for the answer, which is posted because `becomeWebSocket`
    /// ends the load, and this call must return to it before.
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
        loop.post { proceed.value() }
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
        bytesExpectedToReceive.store(NSURLSessionTransferSizeUnknown, ordering: .sequentiallyConsistent)
        updateProgress()
        // Callers of `async` methods would wait for a queue that has nothing to do.
        if !delegates.lack(.webSocketTaskDidOpen) { enqueue(.webSocketOpened(subprotocol: agreement.subprotocol)) }
        if state == .suspended { opened.suspend() }
        let calls = webSocket.earlyCalls
        webSocket.earlyCalls = []
        for call in calls { call.perform(on: opened) }
        if let pingInterval { opened.setPingInterval(pingInterval) }
        opened.start(.first)
    }

    /// Fails the calls that wait, and notes how an open connection has ended.
    func endWebSocket(_ error: LoadError?) {
        guard let webSocket else { return }
        let calls = webSocket.earlyCalls
        webSocket.earlyCalls = []
        webSocket.load = nil
        let late = error ?? .webSocketIsClosed
        var (answered, failed) = locked { _ in webSocket.inbox.end(late) }
        for (receiver, message) in answered { answer(receiver, with: message) }
        if !failed.isEmpty {
            let shown = shownError(late)
            while let receiver = failed.popFirst() {
                answer(receiver.caller, receiver.isPromised, .received(receiver.handler, .failure(shown)))
            }
        }
        for call in calls { call.reply(late) }
    }
}

extension TaskCore: WebSocketClient {
    func load(_ load: WebSocketLoad, didRead count: Int) {
        bytesReceived.wrappingAdd(Int64(count), ordering: .sequentiallyConsistent)
        updateProgress()
    }

    func load(_ load: WebSocketLoad, didWrite count: Int) {
        bytesSent.wrappingAdd(Int64(count), ordering: .sequentiallyConsistent)
        updateProgress()
    }

    func load(_ load: WebSocketLoad, didReceive octets: UnsafeRawBufferPointer, isText: Bool) -> Bool {
        guard let webSocket else { return true }
        // The protocol's machine has checked that the octets of text are UTF-8.
        let message: URLSessionWebSocketTask.Message =
            isText
            ? .string(String(decoding: octets, as: UTF8.self))
            : .data(octets.baseAddress.map { Data(bytes: $0, count: octets.count) } ?? Data())
        lock.lock()
        let wantsMore: Bool
        if let receiver = webSocket.inbox.takeReceiver(isHeld: values.state == .suspended) {
            wantsMore = webSocket.inbox.wantsMore
            if receiver.caller == .handler, receiver.isPromised {
                // As `keepPromise` does, with the lock that is held already.
                let mustSchedule = events.keepPromise(.received(receiver.handler, .success(consume message)))
                lock.unlock()
                if mustSchedule { delivery.schedule(self) }
            } else {
                lock.unlock()
                answer(receiver, with: message)
            }
        } else {
            webSocket.inbox.keep(message, octets: octets.count)
            wantsMore = webSocket.inbox.wantsMore
            lock.unlock()
        }
        return wantsMore
    }

    private func answer(_ receiver: WebSocketInbox.Receiver, with message: URLSessionWebSocketTask.Message) {
        answer(receiver.caller, receiver.isPromised, .received(receiver.handler, .success(message)))
    }

    func load(_ load: WebSocketLoad, holdsMessages: Bool) {
        guard let webSocket else { return }
        locked { _ in webSocket.inbox.isHeld = holdsMessages }
        passMessages()
    }

    /// Delivers the messages that were held to their receivers.
    func passMessages() {
        guard let webSocket else { return }
        while let next = locked({ _ in webSocket.inbox.match() }) {
            answer(next.receiver, with: next.message)
            // Afterwards, because the end may wait for it, and follows the message.
            if next.mustRead { webSocket.load?.resumeReading() }
        }
    }

    func loadAwaits(_ load: WebSocketLoad) -> AwaitedTaking {
        locked { _ in webSocket?.inbox.awaitEnd() ?? .nothing }
    }

    func loadHasFault(_ load: WebSocketLoad) {
        // After the handlers of the messages before, and what they send. If there are none, it needs no queue either.
        resumeCaller(.call { [self] in loop.post { self.webSocket?.load?.fail() } }, isPromised: false)
    }

    func loadDropsMessages(_ load: WebSocketLoad) { locked { _ in webSocket?.inbox.dropMessages() } }

    func load(_ load: WebSocketLoad, didCloseWith code: UInt16, reason: [UInt8]) {
        guard let webSocket, let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) else { return }
        let reason = Data(reason)
        locked { _ in (webSocket.closeCode, webSocket.closeReason) = (code, reason) }
        if !delegates.lack(.webSocketTaskDidClose) { enqueue(.webSocketClosed(code, reason: reason)) }
    }

    /// Before the handlers of the pending operations, which may ask for the code (WS-13).
    func load(_ load: WebSocketLoad, willFailWith error: LoadError) {
        guard let webSocket, error != .cancelled else { return }
        locked { _ in if webSocket.closeCode == .invalid { webSocket.closeCode = .abnormalClosure } }
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
