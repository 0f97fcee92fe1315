package import LoadingSemantics
package import LoadingTransport

extension LoadRequest {
    /// The engine's request for a transfer. Throws the error with which it fails.
    ///
    /// - Parameter loop: That of the load, on which the file of the body is read.
    package init(_ request: TransferRequest, on loop: EventLoop) throws(LoadError) {
        let url: HTTPURL
        do { url = try HTTPURL(request.url) } catch { throw error.loadError }
        // BG-1
        guard url.scheme.isHTTP else { throw .unsupportedURL }
        self.init(
            url: url, urlText: request.url, method: request.method, fields: HTTPFields(request.fields),
            body: request.bodyFile.map { LoadBody.file(FileReader(path: $0, on: loop)) } ?? LoadBody.none,
            idleTimeout: request.idleTimeout, totalTimeout: request.totalTimeout ?? .infinity,
            waitsForConnectivity: request.waitsForConnectivity, priority: request.priority)
        service = NetworkService(
            trafficClass: request.trafficClass, isMultipath: request.isMultipath,
            requiresDNSSEC: request.requiresDNSSEC)
        partition = request.partition
        cachePolicy = CachePolicy(rawValue: request.cachePolicy) ?? .useProtocolCachePolicy
        assumesHTTP3 = request.assumesHTTP3 ?? false
        allowsEarlyData = request.allowsEarlyData ?? false
    }
}
