internal import LoadingSemantics
internal import LoadingTransport

/// The media type of a response that does not say it (MISC-11).
extension Load {
    /// How many bytes of a body, as they came, are looked at.
    static let lookAhead = MediaTypeSniffing.length

    /// Whether nothing but the first bytes of the body can tell the type. A part of a body does not begin with them.
    func dependsOnBody(_ response: LoadResponse) -> Bool {
        guard response.hasBody, response.head.status != 206, !response.isPart,
            !response.head.fields.contains("Content-Type")
        else { return false }
        return MediaTypeSniffing.needsStart(
            hasContentType: false, contentTypeOptions: response.head.fields.combinedValue("X-Content-Type-Options"),
            pathExtension: response.url.pathExtension)
    }

    /// Tells the response with what is there of its body. Nothing that is not here yet is waited for: where the body comes in
    /// frames of its own, those that were read together with the head are told before the turn is over.
    func lookAtBody(of response: LoadResponse) {
        if let body = cache.served { return deliverResponse(startingWith: Array(body.prefix(Self.lookAhead))) }
        if backlog.count > 0 || bodyEnd != nil {
            return deliverResponse(startingWith: backlog.start(most: Self.lookAhead))
        }
        guard let exchange else { return deliverResponse(startingWith: []) }
        if let start = exchange.startOfBody(most: Self.lookAhead) { return deliverResponse(startingWith: start) }
        outstanding = .startOfBody
        applyFlow()
        let tell = LoopBox({ [weak self] in
            guard let self, case .startOfBody = outstanding, !hasEnded, !isSuspended else { return }
            deliverResponse(startingWith: backlog.start(most: Self.lookAhead))
        })
        environment.loop.post { tell.value() }
    }

    /// - Parameter start: The first bytes of the body as they came, still coded unless they were stored.
    func deliverResponse(startingWith start: [UInt8]) {
        outstanding = .nothing
        response?.startOfBody = decoding.decodedStart(of: start, most: MediaTypeSniffing.length)
        deliverResponse()
    }
}
