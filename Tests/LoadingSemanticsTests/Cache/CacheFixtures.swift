import LoadingSemantics
import Testing

/// The time at which the responses of these tests arrive, and shorthands.
enum CacheFixtures {
    static let start: Int64 = 1_700_000_000
    static let tag = #""a""#

    static func date(_ offset: Int64) -> String { HTTPDate.text(start + offset) }

    static func request(
        _ fields: [(String, String)] = [], method: String = "GET", url: String = "https://a.example/x",
        policy: CachePolicy = .useProtocolCachePolicy
    ) throws -> CacheRequest {
        CacheRequest(method: method, url: try HTTPURL(url), fields: HTTPFields(fields), policy: policy)
    }

    /// A response that came at `start + came`, to a request sent then or some seconds before, and dated then.
    static func response(
        _ fields: [(String, String)], status: Int = 200, came: Int64 = 0, delay: Int64 = 0,
        to requestFields: [(String, String)] = []
    ) throws -> StoredResponse {
        let dated = fields.contains { $0.0 == "Date" } ? fields : fields + [("Date", date(came))]
        let decision = CacheStorageRules.decide(
            try request(requestFields), status: status, fields: HTTPFields(dated),
            requestTime: start + came - delay, responseTime: start + came, isComplete: true)
        guard case .store(let response) = decision else {
            throw NotStored(decision: decision)
        }
        return response
    }

    struct NotStored: Error {
        let decision: CacheStorageDecision
    }
}
