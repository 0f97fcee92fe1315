import Foundation
import LoadingEvents

extension HARRecord {
    /// A round with a proxy that was to make a tunnel. An archive has no form for the target of CONNECT, so that stands in an
    /// address.
    init(_ round: ObservedHeads.TunnelRound) {
        let target = if case .request(_, let target) = round.request.start { target } else { "" }
        let url = "https://\(target)"
        var timeline = TransactionTimeline(method: "CONNECT", url: url)
        let end = max(0, round.end.timeIntervalSince(round.start))
        timeline.phases = [.init(.wait, 0, end)]
        timeline.protocolName = "http/1.1"
        timeline.isProxyConnection = true
        if case .response(let status)? = round.response?.start { timeline.status = status }
        self.init(timeline: timeline, start: round.start, url: url)
        requestFields = round.request.fields.map { ($0.name, $0.value) }
        responseFields = round.response?.fields.map { ($0.name, $0.value) } ?? []
    }
}
