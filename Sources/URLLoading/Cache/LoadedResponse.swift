internal import LoadingSemantics

/// The response that the loader gives to a subclass of `URLCache`, while it calls it. The subclass may store another
/// one in its place, which is then known to answer the same request.
struct LoadedResponse: Sendable {
    let key: CacheKey
    let response: CachedURLResponse

    /// That of the current call.
    @TaskLocal static var current: LoadedResponse?

    /// Calls the subclass. A task-local value also applies to a thread without a task.
    static func calling(_ response: CachedURLResponse, _ key: CacheKey?, _ body: () -> Void) {
        $current.withValue(key.map { LoadedResponse(key: $0, response: response) }, operation: body)
    }
}

extension CachedURLResponse {
    /// This response as it is stored for a request.
    func completed(for request: URLRequest, _ key: CacheKey) -> CachedURLResponse {
        guard let loaded = LoadedResponse.current, loaded.key == key else { return noting(request) }
        return withFacts(of: loaded.response).noting(request)
    }
}
