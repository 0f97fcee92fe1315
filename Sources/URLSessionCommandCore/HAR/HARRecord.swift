package import Foundation
internal import LoadingEvents
internal import LoadingSemantics

/// One transaction of a HAR archive, before redaction and encoding.
package struct HARRecord: Equatable, Sendable {
    /// The part of a body that is kept for the archive: at most `limit` bytes.
    package struct Body: Equatable, Sendable {
        package static let limit = 1 << 20
        package private(set) var bytes = Data()
        package private(set) var count: Int64 = 0

        package init(_ bytes: Data = Data()) { add(bytes) }

        package mutating func add(_ more: Data) {
            count += Int64(more.count)
            bytes += more.prefix(max(0, Self.limit - bytes.count))
        }

        package var isComplete: Bool { Int64(bytes.count) == count }
    }

    package var timeline: TransactionTimeline
    package var start: Date
    package var url: String
    package var requestFields: [(name: String, value: String)]
    package var responseFields: [(name: String, value: String)]
    /// The reason phrase on the wire: empty over HTTP/2 and HTTP/3, and for a response that did not come from a server.
    package var reason = ""
    package var mimeType: String?
    package var requestBody: Body?
    /// Nil for redirects and other responses whose body was not delivered.
    package var responseBody: Body?
    package var failure: String?

    package init(timeline: TransactionTimeline, start: Date, url: String) {
        self.timeline = timeline
        self.start = start
        self.url = url
        requestFields = []
        responseFields = []
    }

    package static func == (left: HARRecord, right: HARRecord) -> Bool {
        left.timeline == right.timeline && left.start == right.start && left.url == right.url
            && left.requestFields.elementsEqual(right.requestFields, by: ==)
            && left.responseFields.elementsEqual(right.responseFields, by: ==) && left.reason == right.reason
            && left.mimeType == right.mimeType
            && left.requestBody == right.requestBody && left.responseBody == right.responseBody
            && left.failure == right.failure
    }

    package func entry(showingSecrets: Bool) -> HARDocument.Entry {
        let timings = HARDocument.Timings(timeline.phases)
        let version = timeline.protocolName.map { MessageHead.version(ofProtocol: $0) } ?? "unknown"
        let address = timeline.remoteAddress.map(Self.host)
        return HARDocument.Entry(
            startedDateTime: Self.timestamp(start), time: timings.total,
            request: request(version, showingSecrets), response: response(version, showingSecrets),
            timings: timings, serverIPAddress: address,
            comment: failure.map { showingSecrets ? $0 : SecretText.hiding(in: $0) })
    }

    private func request(_ version: String, _ showingSecrets: Bool) -> HARDocument.Request {
        let shown = showingSecrets ? url : SecretText.hiding(inURL: url)
        return HARDocument.Request(
            method: timeline.method,
            url: shown,
            httpVersion: version,
            cookies: cookies(requestFields, "cookie", showingSecrets),
            headers: fields(requestFields, showingSecrets),
            queryString: URLComponents(string: shown)?.queryItems?.map { .init($0.name, $0.value ?? "") } ?? [],
            postData: requestBody.map { body in
                let type = requestFields.first { $0.name.lowercased() == "content-type" }?.value ?? ""
                let text = body.isComplete ? String(data: body.bytes, encoding: .utf8) : nil
                let shownText =
                    showingSecrets ? text : text.map { SecretText.hiding(in: $0, as: .init(mimeType: type)) }
                return .init(
                    mimeType: type, text: shownText ?? "", comment: text == nil ? "\(body.count) bytes, not kept" : nil)
            },
            headersSize: timeline.requestHeaderBytes > 0 ? timeline.requestHeaderBytes : -1,
            bodySize: max(0, timeline.requestBodyBytes))
    }

    private func response(_ version: String, _ showingSecrets: Bool) -> HARDocument.Response {
        let location = responseFields.first { $0.name.lowercased() == "location" }?.value ?? ""
        return HARDocument.Response(
            status: timeline.status ?? 0,
            statusText: showingSecrets ? reason : SecretText.hiding(in: reason),
            httpVersion: version,
            cookies: cookies(responseFields, "set-cookie", showingSecrets),
            headers: fields(responseFields, showingSecrets),
            content: content(showingSecrets),
            redirectURL: showingSecrets ? location : SecretText.hiding(inURL: location),
            headersSize: timeline.responseHeaderBytes > 0 ? timeline.responseHeaderBytes : -1,
            bodySize: timeline.status == nil ? -1 : timeline.isFromCache ? 0 : timeline.responseBodyBytes)
    }

    private func content(_ showingSecrets: Bool) -> HARDocument.Content {
        var size = max(timeline.decodedBodyBytes, responseBody?.count ?? 0)
        // The session does not decode bodies that it does not deliver, such as that of a redirect.
        if size == 0, isBodyAsOnTheWire { size = timeline.responseBodyBytes }
        var content = HARDocument.Content(size: size, mimeType: mimeType ?? "x-unknown")
        // For an uncoded body the wire size may be larger than the content, because of the framing.
        if timeline.responseBodyBytes > 0, size > timeline.responseBodyBytes {
            content.compression = size - timeline.responseBodyBytes
        }
        guard let responseBody, responseBody.count > 0 else { return content }
        guard responseBody.isComplete else {
            content.comment = "the body is longer than \(Quantity.bytes(Int64(Body.limit))) and is left out"
            return content
        }
        if let text = text(of: responseBody.bytes, showingSecrets) {
            let kind = SecretText.Kind(mimeType: mimeType ?? "")
            content.text = showingSecrets ? text : SecretText.hiding(in: text, as: kind)
        } else {
            content.text = responseBody.bytes.base64EncodedString()
            content.encoding = "base64"
        }
        return content
    }

    /// The response's body as text; nil for one that is written in Base64. That is exact, but hides no secret: of text
    /// that is not UTF-8 it is only used if secrets are shown.
    private func text(of body: Data, _ showingSecrets: Bool) -> String? {
        let type = MediaType(mimeType)
        if type == .binary { return nil }
        if let text = String(data: body, encoding: .utf8) { return text }
        if showingSecrets || type == .unknown && MediaType.looksBinary(body) { return nil }
        let field = responseFields.last { $0.name.lowercased() == "content-type" }
        let charset = field.flatMap { LoadingSemantics.MediaType(contentType: $0.value)?.charset }
        guard let decoder = CharsetDecoder(charset ?? CharsetDecoder.charset(in: body)) else {
            return String(decoding: body, as: UTF8.self)
        }
        return String(decoding: decoder.add(body) + decoder.finish(), as: UTF8.self)
    }

    /// Whether the body has neither a content coding nor a transfer coding.
    private var isBodyAsOnTheWire: Bool {
        !responseFields.contains { ["content-encoding", "transfer-encoding"].contains($0.name.lowercased()) }
    }

    private func fields(_ fields: [(name: String, value: String)], _ showingSecrets: Bool) -> [HARDocument.NameValue] {
        fields.map { .init($0.name, showingSecrets ? $0.value : SecretFields.redact(name: $0.name, value: $0.value)) }
    }

    /// Cookie names; values only if secrets are shown. `URLSession` may join several Set-Cookie fields into one; of
    /// each field only the first pair is listed.
    private func cookies(
        _ fields: [(name: String, value: String)], _ name: String, _ showingSecrets: Bool
    ) -> [HARDocument.NameValue] {
        fields.filter { $0.name.lowercased() == name }.flatMap { field in
            let pairs = field.value.split(separator: ";")
            return (name == "cookie" ? pairs[...] : pairs.prefix(1)).compactMap { (pair) -> HARDocument.NameValue? in
                let parts = pair.drop { $0 == " " }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { return nil }
                return .init(String(parts[0]), showingSecrets ? String(parts[1]) : SecretFields.replacement)
            }
        }
    }

    private static func host(_ address: String) -> String {
        if address.hasPrefix("[") { return String(address.dropFirst().prefix { $0 != "]" }) }
        return String(address.prefix { $0 != ":" })
    }

    private static func timestamp(_ date: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(date)
    }
}

extension HARDocument.Timings {
    package init(_ phases: [TransactionTimeline.Phase]) {
        self.init()
        for phase in phases {
            let milliseconds = ((phase.duration ?? 0) * 1_000_000).rounded() / 1000
            switch phase.kind {
            case .queued: blocked = milliseconds
            case .dns: dns = milliseconds
            case .connect: connect = max(0, connect) + milliseconds
            case .tls:
                ssl = milliseconds
                connect = max(0, connect) + milliseconds
            case .request: send = milliseconds
            case .wait: wait = milliseconds
            case .response: receive = milliseconds
            }
        }
    }

    /// The sum of all phases that took place. `connect` includes `ssl`.
    package var total: Double {
        let sum = [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +)
        return (sum * 1000).rounded() / 1000
    }
}
