import LoadingConnections
import LoadingProtocols
import LoadingSemantics
import Testing

@Suite("The request of an exchange")
struct ExchangeRequestTests {
    @Test("other defaults have none of the lines that were made before")
    func lines() {
        let defaults = HTTPFields([("Accept", "*/*"), ("User-Agent", "a")])
        let lines = HTTP1RequestEncoder.lines(of: defaults)
        let request = ExchangeRequest(
            method: "GET", target: .origin("/"), fields: HTTPFields([("Host", "a.example")]), defaults: defaults,
            defaultLines: lines, body: .none, expectsContinue: false)
        var changed = request
        changed.defaults = defaults.without(names: ["Accept"])
        #expect(changed.defaultLines.isEmpty)
        #expect(request.defaultLines == lines)
        // What else changes leaves the defaults as they are.
        var other = request
        other.method = "HEAD"
        #expect(other.defaultLines == lines)
    }
}
