import LoadingPipeline
import LoadingSemantics

extension HSTSStore {
    /// The host's own response requires TLS.
    func noteHost(_ host: String) throws {
        note(
            HTTPFields([("Strict-Transport-Security", "max-age=1000")]), from: try HTTPURL("https://\(host)/"),
            isTrusted: true)
    }
}
