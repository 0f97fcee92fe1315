import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import Testing

@testable import LoadingConnections

@Suite struct HTTP3ServicesTests {
    // CONN-6: RFC 7838 §3.1
    @Test("an advertised service is used until the second in which its lifetime ends") func lifetime() throws {
        let time = SteppedTime()
        let services = HTTP3Services(TransientAlternatives(), clock: .stepped(time))
        let origin = ConnectionKey(isSecure: true, host: "a.example", port: 443).hostPort
        let known = {
            services.service(of: origin, isAssumed: false, isWatched: true, at: time.now)
        }
        // The beginning of a second, because lifetimes are in seconds of the wall clock.
        time.move(to: time.now + 1_000_000_000 - time.wallNow % 1_000_000_000)
        let start = time.now
        services.note(HTTPFields([("Alt-Svc", "h3=\":8443\"; ma=60")]), from: try HTTPURL("https://a.example/"))
        #expect(known() == AlternativeService(port: 8443))
        time.move(to: start + 60_000_000_000 - 1)
        #expect(known() == AlternativeService(port: 8443))
        time.move(to: start + 60_000_000_000)
        #expect(known() == nil)
    }
}
