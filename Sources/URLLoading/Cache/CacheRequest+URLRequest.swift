internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

extension CacheRequest {
    /// The program's request for which it stores a response, with the fields that each load adds. Nil unless the URL is
    /// an HTTP URL.
    ///
    /// - Parameter isVaried: Whether the response depends on fields of the request. If not, none are needed.
    convenience init?(_ request: URLRequest, isVaried: Bool) {
        guard let text = request.url?.absoluteString, let url = try? HTTPURL(text), url.scheme.isHTTP else {
            return nil
        }
        guard isVaried else {
            self.init(method: request.method, url: url)
            return
        }
        var fields = HTTPFields()
        request.appendFields(to: &fields)
        if !fields.contains("Host") { fields.append("Host", String(decoding: url.authority, as: UTF8.self)) }
        let defaults = RequestDefaults.fields(
            isSecure: url.scheme.isSecure, userAgent: RequestDefaults.userAgent(programVersion: nil))
        // A default does not count where the request has the field.
        self.init(
            method: request.method, url: url, fields: fields, defaults: defaults.without(namesOf: fields),
            fingerprint: { HTTPLoad.fingerprint($0) })
    }
}
