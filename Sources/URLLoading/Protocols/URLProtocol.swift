public import Foundation

/// Loads requests with custom schemes, or replaces the built-in loading, for example in tests.
///
/// A subclass selects its requests in ``canInit(with:)-(URLRequest)``. For each one an object is created and
/// ``startLoading()`` is called, then ``stopLoading()`` exactly once when the load ends. The object delivers the
/// response to its ``client``.
///
/// **Threads.** All objects of a process are created, started and stopped on one serial queue without a run loop, so
/// ``startLoading()`` must not block. The class methods are called on other threads. The client may be called on any
/// thread; calls after the end are ignored.
open class URLProtocol: NSObject {
    private let requestToLoad: URLRequest
    private let stored: CachedURLResponse?
    private let listener: (any URLProtocolClient)?
    private var owner: URLSessionTask?

    /// The designated initializer, which subclasses override. The loader calls ``init(task:cachedResponse:client:)``,
    /// which calls this one.
    public init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        requestToLoad = request
        stored = cachedResponse
        listener = client
    }

    /// Creates the object for a task. Called by the loader.
    public required convenience init(
        task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?
    ) {
        let request = (client as? ProtocolClient)?.request ?? task.requestForProtocols ?? .withoutURL
        self.init(request: request, cachedResponse: cachedResponse, client: client)
        owner = task
    }

    /// The receiver of the response.
    open var client: (any URLProtocolClient)? { listener }

    /// The request in its canonical form. A body from data is a stream here, a new one for each access.
    open var request: URLRequest { requestToLoad }

    /// The cached response to the request, if the session's cache has one and may be used.
    open var cachedResponse: CachedURLResponse? { stored }

    /// The task of the load.
    open var task: URLSessionTask? { owner }

    // MARK: For subclasses to override

    /// Whether this class loads a request. A body from data is a stream here. The default is false.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether this class loads a task. The default calls ``canInit(with:)-(URLRequest)`` with the task's current
    /// request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        task.requestForProtocols.map { canInit(with: $0) } ?? false
    }

    /// The canonical form of a request, in which it is loaded and cached. The default is the request itself.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether two requests have the same cached response. The default is whether they are equal.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { a == b }

    /// Starts the load. Must be overridden.
    open func startLoading() {
        client?.urlProtocol(self, didFailWithError: URLError(.unsupportedURL))
    }

    /// Stops the load. Called once for each ``startLoading()``, when the load ends for any reason.
    open func stopLoading() {}

    // MARK: Registration

    /// Registers a class for all sessions of the process. It is queried before classes that were registered earlier,
    /// and after those of the session's configuration. A class that is registered again comes first, and is still
    /// queried once. Returns false if it is not a subclass of `URLProtocol`.
    @discardableResult open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard let protocolClass = protocolClass as? URLProtocol.Type else { return false }
        ProtocolRegistry.shared.register(protocolClass)
        return true
    }

    /// Unregisters a class, however often it was registered. Loads in progress continue.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        guard let protocolClass = protocolClass as? URLProtocol.Type else { return }
        ProtocolRegistry.shared.unregister(protocolClass)
    }

    // MARK: Properties of requests

    /// The value that was attached to a request for a key.
    open class func property(forKey key: String, in request: URLRequest) -> Any? { request.protocolProperties[key] }

    /// Attaches a value to a request and its copies, for example to recognise requests that the subclass itself sends.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        request.request.protocolProperties[key] = value
    }

    /// Removes the value for a key.
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
    /// The request as passed to protocols: with its body as a stream (T-68).
    var withBodyAsStream: URLRequest {
        guard case .data(let data) = body else { return self }
        var copy = self
        copy.setBodyForProtocols(data)
        return copy
    }

    /// A stream does not show its length.
    mutating func setBodyForProtocols(_ data: Data) {
        body = .streamOfData(data)
        setValue("\(data.count)", forHTTPHeaderField: "Content-Length")
    }
}
