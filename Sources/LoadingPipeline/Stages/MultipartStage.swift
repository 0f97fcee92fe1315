internal import LoadingProtocols
internal import LoadingSemantics

/// Takes a body of `multipart/x-mixed-replace` apart, each of whose parts is a response of its own in place of the one
/// before (S-69, MISC-23).
struct MultipartStage {
    private var parser: MultipartParser
    private let whole: LoadResponse
    /// Bytes, decoded, that the client did not want yet.
    var backlog: [UInt8] = []
    private(set) var partCount = 0

    /// Nil for a response of any other type.
    init?(_ response: LoadResponse) {
        guard Self.mayBeMultipart(response.head.fields), let type = response.head.fields.firstValue("Content-Type"),
            MediaType(contentType: type)?.mimeType == "multipart/x-mixed-replace",
            let boundary = MultipartBoundary.find(in: type)
        else { return nil }
        parser = MultipartParser(boundary: boundary)
        whole = response
    }

    /// A look that costs next to nothing, for the many responses that are nothing of the kind.
    private static func mayBeMultipart(_ fields: HTTPFields) -> Bool {
        guard let index = fields.positions.indices.first(where: { fields.isNamed("Content-Type", at: $0) }) else {
            return false
        }
        let position = fields.positions[index]
        let start = Int(position.valueStart)
        return position.valueLength > 0 && fields.bytes.indices.contains(start)
            && asciiLowercase(fields.bytes[start]) == UInt8(ascii: "m")
    }

    /// The next event from the front of `input`; nil when all of it is used up.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(LoadError) -> MultipartEvent? {
        do { return try parser.next(&input) } catch { throw error.loadError }
    }

    /// What is left to tell when the body has ended; it begins no part.
    mutating func inputEnded() throws(LoadError) -> MultipartEvent? {
        do { return try parser.inputEnded() } catch { throw error.loadError }
    }

    /// The response that a part is shown as.
    mutating func response(toPart fields: HTTPFields) -> LoadResponse {
        partCount &+= 1
        var response = whole
        response.head.fields = MultipartPartFields.merged(part: fields, into: whole.head.fields)
        response.expectedLength = fields.firstValue("Content-Length").flatMap { Int64($0) }.map { max(-1, $0) } ?? -1
        response.isPart = true
        return response
    }
}

extension MultipartParseError {
    fileprivate var loadError: LoadError {
        switch self {
        case .headTooLong: .cannotParseResponse("the head of a part is too long")
        case .tooManyFields: .cannotParseResponse("a part has too many fields")
        case .bareCarriageReturn: .cannotParseResponse("the head of a part has a CR without LF")
        }
    }
}
