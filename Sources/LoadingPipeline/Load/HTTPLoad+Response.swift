internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The events of the exchange: response heads, of which the client receives one, and the end of the exchange.
extension HTTPLoad {
    // MARK: The request

    func exchangeSentBody(_ bytes: Int64, total: Int64) {
        noteActivity()
        uploading?.sentBytes = total
        client?.load(self, didSendBody: bytes, total: total &+ (uploading?.part.offset ?? 0))
    }

    func exchangeSentRequest(_ bodyBytes: Int64) { uploading?.sentRequest(bodyBytes) }

    func exchangeWasNotProcessed() { clock.noteUnprocessed(at: environment.loop.now) }

    // MARK: Heads

    func exchangeReceived(informational head: ResponseHead) {
        noteActivity()
        client?.load(self, didReceiveInformational: head)
        guard head.status == 104, let uploading else { return }
        switch uploading.received104(head.fields, from: request.urlText) {
        case .fail(let error)?: end(error)
        case .askToMove(let url)?: askToMove(to: url, head)
        default: break
        }
    }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        clock.noteResponse(at: environment.loop.now)
        takeCookies(of: head)
        environment.transportSecurity.note(
            head.fields, from: request.url, isTrusted: exchange?.isConnectionTrusted ?? false)
        do { try sink.decoding.begin(head, body: body) } catch { return end(error) }
        let expected: Int64 =
            switch body {
            case .none: announcedLength(of: head)
            case .known(let length): sink.decoding.isActive ? -1 : length
            case .unknown, .untilClose: -1
            }
        let response = LoadResponse(
            url: request.url, head: head, expectedLength: expected, hasBody: body != .none && body != .known(0),
            endsWithConnection: body == .untilClose)
        self.response = response
        do { if try handleChallenge(response) { return } } catch { return end(error) }
        if handleByCache(response) { return }
        if !handleRedirect(response) { deliverResponseOrRest() }
    }

    /// Any response may set cookies, including one that is not delivered to the client (COOK-23).
    private func takeCookies(of head: ResponseHead) {
        // A 407 is the proxy's response, not the origin's.
        guard head.fields.contains("Set-Cookie"), head.status != 407, request.url.scheme != .ftp else { return }
        guard let store = environment.cookies else { return }
        let fields = head.fields.values("Set-Cookie")
        log?.traceOnly(.cookiesReceived(fields.count))
        store.receive(fields, for: self)
    }

    /// The announced length of a response without a body: a response to HEAD has the length that GET would return.
    private func announcedLength(of head: ResponseHead) -> Int64 {
        guard request.method == "HEAD" else { return 0 }
        return max(-1, head.fields.firstValue("Content-Length").flatMap { Int64($0) } ?? -1)
    }

    // MARK: Redirects

    /// The number of redirects that the task has followed: those of its earlier loads, and of this one.
    package var redirectCount: Int {
        get { redirect.count }
        set { redirect = RedirectStage(after: newValue) }
    }

    /// True if the response is a redirect, which is followed, passed to the client, or ends the load.
    func handleRedirect(_ response: LoadResponse) -> Bool {
        guard response.head.status / 100 == 3 else { return false }
        do {
            switch try redirect.next(for: response, to: request, isWebSocket: webSocketOffer != nil) {
            case .follow(let next) where uploading?.isFollowUp == true:
                // The client does not know of these requests. A redirect that changes the method, or that sends the
                // body to another origin, is not followed.
                guard next.method == request.method, next.url.isSameOrigin(as: request.url) else { return false }
                followSilently(next)
            case .follow(var next):
                // The client is asked about the upgraded request, which is the one that would be sent.
                _ = environment.transportSecurity.upgrade(&next)
                propose(next)
                guard case .now? = client?.load(self, willRedirectTo: next, response: response) else { return true }
                // The rest of the response has nearly always arrived with its head. After it is read, the next request
                // can use the connection.
                environment.loop.runLater { self.answerRedirect(next) }
            case .leaveHTTP where uploading?.isFollowUp == true: return false
            case .leaveHTTP(let redirected):
                // The client may refuse the redirect; it is then an ordinary response.
                var left = request
                if !redirected.keepsBody { left.body = .none }
                propose(left)
                if client?.load(self, leavesHTTPBy: redirected, response: response) == true { return true }
                end(LoadError.unsupportedURL.at(redirected.url))
            case nil: return false
            }
        } catch { end(error) }
        return true
    }

    private func propose(_ next: LoadRequest) {
        proposal = next
        machine.apply(.asks(.redirect))
        exchange?.holdRequestBody(true)
        applyFlow()
    }

    package func answerRedirect(_ next: LoadRequest?) {
        environment.loop.checkConfinement(of: "A load")
        guard machine.stage == .redirect, let proposed = proposal else { return }
        proposal = nil
        noteActivity()
        guard var next else {
            exchange?.holdRequestBody(false)
            return deliverResponse()
        }
        // The client has the URL without its user information, and may spell it in another way.
        if next.url.isSameOrigin(as: proposed.url) { next.redirectedUser = proposed.redirectedUser }
        follow(next)
    }

    private func follow(_ next: LoadRequest) {
        keepRedirect()
        dropExchange()
        forgetAnswers()
        let priority = request.priority
        request = next
        request.priority = priority
        if !next.hasBody, uploading?.isFollowUp == false { uploading = nil }
        resumption?.ask(&request)
        fetch(.redirect)
    }

    /// Follows a redirect of a request that the client does not know of.
    private func followSilently(_ next: LoadRequest) {
        dropExchange()
        request = next
        forgetAnswers()
        fetch(.retry)
    }

    // MARK: The client's response

    func deliverResponseOrRest() {
        if let response, continuesUpload(after: response.head) { return }
        if resumption != nil, let response { deliverResumed(response.head) } else { deliverResponse() }
    }

    private func deliverResumed(_ head: ResponseHead) {
        guard let decision = resumption?.decide(head), let path = resumption?.download.path else { return }
        switch decision {
        case .append(let offset, _, let total):
            sink.destination = .file(.existing(path: path, offset: offset))
            response?.resumedOffset = offset
            if let total { response?.expectedLength = total - offset }
            deliverResponse()
        case .replace:
            deliverResponse()
        case .restart:
            dropExchange()
            resumption?.restart(&request)
            fetch(.retry)
        case .fail(let error):
            end(error)
        }
    }

    func deliverResponse() {
        guard let response, let client else { return }
        if beginParts(of: response) { return }
        if response.startOfBody == nil, dependsOnBody(response) { return lookAtBody(of: response) }
        machine.apply(.asks(.response))
        guard case .now = client.load(self, didReceive: response) else {
            // The client may take over the connection after this head.
            if !response.isPart { exchange?.holdBody() }
            return applyFlow()
        }
        answerResponse()
    }

    package func answerResponse(_ destination: BodyDestination?) {
        environment.loop.checkConfinement(of: "A load")
        guard machine.receive(.acceptsResponse) else { return }
        if let destination {
            sink.destination = destination
            // A response that goes to a file is not stored (CACHE-2).
            stopGathering()
        }
        sink.open(expectedLength: response?.expectedLength ?? -1)
        noteActivity()
        exchange?.resumeBody()
        flow()
    }

    // MARK: The media type of a response without Content-Type (MISC-11)

    /// How many bytes of the body, as received, are examined.
    static let lookAhead = MediaTypeSniffing.length

    /// Whether only the first bytes of the body can determine the type. A part of a body does not start with them.
    private func dependsOnBody(_ response: LoadResponse) -> Bool {
        guard response.hasBody, webSocketOffer == nil, response.head.status != 206, !response.isPart,
            !response.head.fields.contains("Content-Type")
        else { return false }
        return MediaTypeSniffing.needsStart(
            hasContentType: false, contentTypeOptions: response.head.fields.combinedValue("X-Content-Type-Options"),
            pathExtension: response.url.pathExtension)
    }

    /// Delivers the response with the bytes of the body that have already arrived. The load does not wait for more. If
    /// the body comes in separate frames, the frames that were read with the head arrive before the turn of the loop
    /// ends.
    private func lookAtBody(of response: LoadResponse) {
        if let body = cache.served { return deliverResponse(startingWith: Array(body.prefix(Self.lookAhead))) }
        if sink.backlogCount > 0 || machine.responseEnd != nil {
            return deliverResponse(startingWith: sink.startOfBacklog(most: Self.lookAhead))
        }
        guard let exchange else { return deliverResponse(startingWith: []) }
        if let start = exchange.startOfBody(most: Self.lookAhead) { return deliverResponse(startingWith: start) }
        machine.apply(.asks(.mediaType))
        applyFlow()
    }

    /// Delivers the response that waits for the first bytes of its body: all bytes that came with the head are there.
    /// False if none waits, or if the load is suspended.
    @discardableResult
    func deliverAwaitedResponse() -> Bool {
        guard machine.stage == .mediaType, !machine.isSuspended else { return false }
        deliverResponse(startingWith: sink.startOfBacklog(most: Self.lookAhead))
        return true
    }

    /// - Parameter start: The first bytes of the body as received. They are still encoded, unless they were stored.
    func deliverResponse(startingWith start: [UInt8]) {
        response?.startOfBody = sink.decoding.decodedStart(of: start, most: MediaTypeSniffing.length)
        deliverResponse()
    }

    // MARK: The end of an exchange

    func exchangeEnded(bodyBytes: Int64) {
        noteActivity()
        wireBytes = bodyBytes
        // This response is complete, and none of it was delivered.
        if machine.stage == .redirect || machine.stage == .challenge {
            log?.record(.responseEnded(bytes: bodyBytes, decoded: 0))
        }
        finishBody(.complete)
    }

    /// - Parameter loss: How the request was lost before, if it was. A load waits for connectivity only before its
    ///   request is sent (CONN-11).
    func exchangeFailedToConnect(_ failure: ConnectionFailure, after loss: LoadError?) {
        let meaning = ConnectivityStage.meaning(of: failure)
        if let loss, connectivity.shouldWait(after: meaning) { return exchangeFailed(loss) }
        let triesAgain = client?.waitsForRouteToServer == false
        if request.waitsForConnectivity, connectivity.shouldWait(after: meaning, clientTriesAgain: triesAgain) {
            return waitForConnectivity()
        }
        if !continuesUpload(after: meaning.error, isConnecting: true) { end(meaning.error) }
    }

    func exchangeFailed(_ error: LoadError) {
        if continuesUpload(after: error, isConnecting: false) { return }
        // The bytes received before the failure are delivered to the client (T-38).
        if response != nil { finishBody(.failed(error)) } else { end(error) }
    }

    private func waitForConnectivity() {
        exchange = nil
        machine.apply(.losesRoute)
        log?.record(.waitingForConnectivity)
        if connectivity.notifiesClient() { client?.loadIsWaitingForConnectivity(self) }
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self, machine.receive(.passed(.connectivity)) else { return }
            beginFetch(.retry)
        }
    }
}
