package import LoadingSemantics

/// The fields of the response that a part is shown as (MISC-23).
package enum MultipartPartFields {
    /// What speaks of the multipart body and of no part of it.
    private static let ofTheWhole = ["content-type", "content-length", "content-range"]

    /// The fields of the response, those of the part in place of those of the same name.
    package static func merged(part: HTTPFields, into response: HTTPFields) -> HTTPFields {
        var result = HTTPFields()
        for index in 0..<response.count {
            let name = response.name(at: index)
            if part.contains(name) || ofTheWhole.contains(where: { response.isNamed($0, at: index) }) { continue }
            result.append(name, response.value(at: index))
        }
        for index in 0..<part.count { result.append(part.name(at: index), part.value(at: index)) }
        return result
    }
}
