import LoadingProtocols
import LoadingSemantics
import Testing

@testable import LoadingConnections

/// The priority that a request says when it goes out over HTTP/2 or HTTP/3.
@Suite struct RequestPriorityTests {
    private func field(_ urgency: Int?, own: String? = nil, additional: String? = nil) throws -> [String] {
        func fields(_ value: String?) -> HTTPFields { HTTPFields(value.map { [("Priority", $0)] } ?? []) }
        let request = ExchangeRequest(
            method: "GET", target: .origin("/"), fields: fields(own), defaults: fields(additional),
            body: .none, expectsContinue: false
        ).asStream(urgency: urgency)
        return request.fields.values("priority") + request.additional.values("priority")
    }

    // MISC-26, T-19: 3 is what no word means (RFC 9218 §4.1)
    @Test(
        "what is said of a task's priority",
        arguments: [
            (nil, []), (0.5, []), (0, ["u=7"]), (0.25, ["u=5"]), (0.75, ["u=1"]), (1, ["u=0"]), (-4, ["u=7"]),
            (9, ["u=0"]), (.nan, []),
        ] as [(Float?, [String])])
    func said(priority: Float?, expected: [String]) throws {
        #expect(try field(priority.map { HTTPStream.urgency(of: $0) }) == expected)
    }

    // MISC-26: what the program says itself goes before, as it is
    @Test("the program's own priority") func own() throws {
        #expect(try field(1, own: "u=6, i") == ["u=6, i"])
        #expect(try field(1, additional: "i") == ["i"])
        #expect(try field(nil, own: "u=6") == ["u=6"])
    }
}
