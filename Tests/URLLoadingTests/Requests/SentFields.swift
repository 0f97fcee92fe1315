import LoadingSemantics

@testable import URLLoading

/// The header fields of a request as sent, one string each.
func sentFieldLines(of request: URLRequest) -> [String] {
    var message = HTTPFields()
    request.appendFields(to: &message)
    return (0..<message.count).map { "\(message.name(at: $0)): \(message.value(at: $0))" }
}
