public import Foundation

/// Loads requests of a kind that the system does not know, or in place of the system: schemes of a program's own, and
/// answers made up for a test.
///
/// A subclass says in ``canInit(with:)-(URLRequest)`` which requests are its own. For each of them an object is made,
/// ``startLoading()`` called, and, once the load is over for whatever reason, ``stopLoading()``, exactly once. What it
/// loads it tells its ``client``.
///
/// The objects of a process are made, started and stopped on one serial queue, so a subclass needs no lock for what it
/// keeps in `static` variables and touches there only; and who blocks in ``startLoading()`` holds up the others. The
/// classes are asked on other threads. The client may be called from any thread; calls after the end are ignored. There
/// is no run loop.
open class URLProtocol: NSObject {
    private let requestToLoad: URLRequest
    private let stored: CachedURLResponse?
    private let listener: (any URLProtocolClient)?
    private var owner: URLSessionTask?

    /// What the loading of a request begins with. Subclasses override this one; the loader comes through
    /// ``init(task:cachedResponse:client:)``, which calls it.
    public init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        requestToLoad = request
        stored = cachedResponse
        listener = client
    }

    /// What the loading of a task begins with.
    public required convenience init(
        task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?
    ) {
        let request = (client as? ProtocolClient)?.request ?? task.requestForProtocols ?? .withoutURL
        self.init(request: request, cachedResponse: cachedResponse, client: client)
        owner = task
    }

    /// Whom to tell what was loaded.
    open var client: (any URLProtocolClient)? { listener }

    /// The request in its canonical form. A body given as data is a stream here, a new one each time it is asked for.
    open var request: URLRequest { requestToLoad }

    /// A stored response to the request, if the session's cache has one and may be asked.
    open var cachedResponse: CachedURLResponse? { stored }

    /// The task that the load is for.
    open var task: URLSessionTask? { owner }

    // MARK: For subclasses to override

    /// Whether this class loads such a request. A body given as data is a stream here.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether this class loads such a task. Unless overridden, asks about the task's current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        task.requestForProtocols.map { canInit(with: $0) } ?? false
    }

    /// The form of a request in which it is loaded and stored. Unless overridden, the request itself.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether a response to the one request is one to the other. Unless overridden, whether both are equal.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    /// Begins to load. A subclass has to override this.
    open func startLoading() {
        client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
    }

    /// Ends the work: the load is over. Called once for each ``startLoading()``.
    open func stopLoading() {}

    // MARK: Registration

    /// Has all sessions of the process ask a class, before those that were registered earlier and after those of their
    /// configurations. False if it is no subclass of `URLProtocol`.
    @discardableResult open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard let protocolClass = protocolClass as? URLProtocol.Type else { return false }
        ProtocolRegistry.shared.register(protocolClass)
        return true
    }

    /// Has no session ask that class any more, unless it is in its configuration. Loads that have begun go on.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        guard let protocolClass = protocolClass as? URLProtocol.Type else { return }
        ProtocolRegistry.shared.unregister(protocolClass)
    }

    // MARK: Properties of requests

    /// What was attached to a request under that key.
    open class func property(forKey key: String, in request: URLRequest) -> Any? { request.protocolProperties[key] }

    /// Attaches something to a request and to all copies made of it: to know, say, a request that a subclass itself has
    /// made.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        request.request.protocolProperties[key] = value
    }

    /// Takes off what was attached.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        request.request.protocolProperties[key] = nil
    }
}

extension URLSessionTask {
    fileprivate var requestForProtocols: URLRequest? {
        currentRequest.map { core?.requestForProtocols($0) ?? $0.withBodyAsStream }
    }
}

extension URLRequest {
    /// The request as protocols get to see it (T-68).
    var withBodyAsStream: URLRequest {
        guard case .data(let data) = body else { return self }
        var copy = self
        copy.body = .streamOfData(data)
        return copy
    }
}
