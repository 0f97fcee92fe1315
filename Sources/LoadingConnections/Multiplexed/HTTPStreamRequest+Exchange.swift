internal import FoundationEssentials
internal import LoadingProtocols
internal import LoadingSemantics

extension ExchangeRequest {
    /// Whether the caller marked the response as incremental: each piece is of use as it arrives (RFC 9218 §4.2).
    var isIncremental: Bool {
        let block = fields.contains("Priority") ? fields : defaults
        guard block.contains("Priority") else { return false }
        return StructuredField.dictionary(block.values("Priority").joined(separator: ", "))?["i"] == .boolean(true)
    }

    /// The request in the form that a stream sends.
    func asStream(urgency: Int?) -> HTTPStreamRequest {
        var fields = fields
        if let urgency, urgency != 3, !fields.contains("Priority"), !defaults.contains("Priority") {
            fields.append("Priority", "u=\(urgency)")
        }
        let hasBody: Bool
        let length: Int64?
        switch body {
        case .none: (hasBody, length) = (false, nil)
        case .bytes(let data): (hasBody, length) = (true, Int64(data.count))
        case .source(_, let announced): (hasBody, length) = (true, announced)
        }
        return HTTPStreamRequest(
            method: method, scheme: "https", path: target.path, connectProtocol: connectProtocol, fields: fields,
            additional: defaults, hasBody: hasBody, contentLength: length)
    }
}

extension HTTP1RequestTarget {
    /// The value of `:path`.
    fileprivate var path: String {
        switch self {
        case .origin(let target), .absolute(_, _, let target): target
        case .authority: ""
        }
    }
}
