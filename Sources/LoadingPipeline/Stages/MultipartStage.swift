internal import LoadingProtocols
internal import LoadingSemantics

/// Splits a `multipart/x-mixed-replace` body. Each part is a response that replaces the one before (S-69, MISC-23).
/// An object, because nearly no body has one.
final class MultipartStage {
    private var parser: MultipartParser
    private let whole: LoadResponse
    /// Decoded bytes, of which the client does not accept those from `backlogStart` on yet.
    private var backlog: [UInt8] = []
    private var backlogStart = 0
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

    /// A cheap check for the many responses that are not multipart.
    static func mayBeMultipart(_ fields: HTTPFields) -> Bool {
        guard let index = fields.firstIndex(of: "Content-Type") else { return false }
        let position = fields.positions[index]
        let start = Int(position.valueStart)
        return position.valueLength > 0 && fields.bytes.indices.contains(start)
            && asciiLowercase(fields.bytes[start]) == UInt8(ascii: "m")
    }

    var hasBacklog: Bool { !backlog.isEmpty }

    func keep(_ rest: UnsafeRawBufferPointer) { (backlog, backlogStart) = (Array(rest), 0) }

    /// Calls `body` with the backlog, and keeps what it leaves. Nothing is copied, because there may be as many steps
    /// as there are parts. `body` finds no backlog.
    func takeBacklog(_ body: (inout UnsafeRawBufferPointer) -> Void) {
        let (taken, start) = (backlog, backlogStart)
        (backlog, backlogStart) = ([], 0)
        let leftCount = taken.withUnsafeBytes { bytes in
            var input = UnsafeRawBufferPointer(rebasing: bytes[start...])
            body(&input)
            return input.count
        }
        if leftCount > 0 { (backlog, backlogStart) = (taken, taken.count - leftCount) }
    }

    /// The next event from the front of `input`; nil when `input` is used up.
    func next(_ input: inout UnsafeRawBufferPointer) throws(LoadError) -> MultipartEvent? {
        do { return try parser.next(&input) } catch { throw error.loadError }
    }

    /// The remaining events after the body has ended. None of them begins a part.
    func inputEnded() throws(LoadError) -> MultipartEvent? {
        do { return try parser.inputEnded() } catch { throw error.loadError }
    }

    /// Follows a body that is delivered as received. False if the rest cannot be followed: a part has a malformed head.
    func follow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var input = bytes
        do {
            while let event = try parser.next(&input) {
                if case .partHead = event { partCount &+= 1 }
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether a body of parts, which has ended, lacks the last delimiter.
    func isCutOff() throws(LoadError) -> Bool {
        var isCutOff = false
        while let event = try inputEnded() {
            if case .end(let isClosed) = event { isCutOff = !isClosed }
        }
        return isCutOff && partCount > 0
    }

    /// The response that represents a part.
    func response(toPart fields: HTTPFields) -> LoadResponse {
        partCount &+= 1
        var head = whole.head
        head.fields = MultipartPartFields.merged(part: fields, into: head.fields)
        let length = fields.firstValue("Content-Length").flatMap { Int64($0) }.map { max(-1, $0) } ?? -1
        let response = LoadResponse(
            url: whole.url, head: head, expectedLength: length, hasBody: whole.hasBody,
            endsWithConnection: whole.endsWithConnection, isPart: true)
        response.resumedOffset = whole.resumedOffset
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
