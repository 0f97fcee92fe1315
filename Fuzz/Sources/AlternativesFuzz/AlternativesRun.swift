import LoadingSemantics

/// What origins say, a copy of it, and the promises that both are held to.
struct AlternativesRun {
    private static let urls = [
        "https://a.example/", "https://a.example:8443/", "https://b.example/", "https://1.2.3.4/", "https://[::1]/",
        "https://c.example/", "wss://a.example/", "http://a.example/",
    ]
    private static let most = 3

    private var services = AlternativeServices(maximumOrigins: most)
    private var copy: [HostPort: AlternativeServicesRecord] = [:]
    private var broken = BrokenServices<HostPort>()
    private var now: Int64 = 1_600_000_000

    mutating func step(_ choice: UInt8, _ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        let text = String(decoding: bytes, as: UTF8.self)
        let index = Int(choice & 7)
        guard let url = try? HTTPURL(Self.urls[index]) else { preconditionFailure("an address is none") }
        switch choice >> 3 & 7 {
        case 0...3:
            let field = AlternativeServiceField([text])
            if let field { check(field, text) }
            let outcome = services.note(HTTPFields([("alt-svc", text)]), from: url, at: now)
            follow(outcome)
            precondition(field != nil && index < 7 || outcome == .nothing, "believed")
        case 4: now += Int64(text.utf8.count) * 3_600
        case 5: for outcome in services.networkChanged(at: now) { follow(outcome) }
        case 6: restore(text, HostPort(url.host, url.port))
        default: failed(HostPort(url.host, url.port))
        }
        precondition(services.count <= Self.most, "more than there is room for")
        precondition(services.count == copy.count, "the copy does not follow")
    }

    mutating func finish() {
        for record in services.all(at: now) {
            precondition(copy[record.origin]?.entries.filter { $0.expires > now } == record.entries, "something else")
            let found = services.services(of: record.origin, at: now)
            precondition(found == record.entries.map(\.service), "another list")
        }
        now = .max
        precondition(Set(services.removeExpired(at: now)) == Set(copy.keys), "not all were reported")
        precondition(services.count == 0, "something is left")
    }

    private func check(_ field: AlternativeServiceField, _ text: String) {
        guard case .offers(let offers) = field else { return }
        precondition(offers.count <= 8, "too many")
        var written: [String] = []
        for offer in offers {
            let service = offer.service
            precondition(service.port > 0 && (0...1 << 31).contains(offer.maximumAge), "out of range")
            let host = service.host.map { $0.contains(":") ? "[\($0)]" : $0 } ?? ""
            written.append(
                "h3=\"\(host):\(service.port)\"; ma=\(offer.maximumAge)" + (service.persists ? ";persist=1" : ""))
        }
        // Neither white space, nor empty items, nor what is unknown, nor something broken at the end means anything.
        precondition(AlternativeServiceField([" ,\t\(text) ,"]) == field, "white space changes what is read")
        precondition(
            AlternativeServiceField([text, "x=\":1\";ma=1, h3=\":2\";ma=x, h3=\""]) == field, "the unknown does")
        precondition(AlternativeServiceField(["h2=\":1\"", text]) == field, "another protocol does")
        if !written.isEmpty {
            precondition(AlternativeServiceField(written) == field, "not the same when written anew")
        }
        if !text.contains("\"") { preconditionFailure("an authority without quotes") }
    }

    /// A record with arbitrary contents.
    private mutating func restore(_ text: String, _ origin: HostPort) {
        let entries = text.split(separator: " ").map { word in
            let number = Int64(word.utf8.count) - 4
            let service = AlternativeService(host: word.isEmpty ? nil : String(word), port: UInt16(word.utf8.count % 3))
            return AlternativeServicesRecord.Entry(service, expires: number > 60 ? .max : now + number)
        }
        follow(services.insert(AlternativeServicesRecord(origin: origin, entries: entries), at: now))
    }

    private mutating func failed(_ place: HostPort) {
        let time = now * 1_000_000_000
        broken.failed(place, at: time)
        precondition(broken.contains(place, at: time), "forgotten")
        precondition(
            !broken.contains(place, at: time + TimeLimits.standard.longestBrokenService), "left alone for too long")
        precondition(broken.count <= Self.urls.count, "more than there are")
    }

    private mutating func follow(_ outcome: AlternativeServicesOutcome) {
        switch outcome {
        case .stored(let record, let evicted):
            for origin in evicted { precondition(copy.removeValue(forKey: origin) != nil, "evicted, but never stored") }
            copy[record.origin] = record
            check(record)
        case .refreshed(let record):
            let old = copy[record.origin]
            precondition(old?.entries.map(\.service) == record.entries.map(\.service), "refreshed, but another")
            copy[record.origin] = record
            check(record)
        case .removed(let origin): precondition(copy.removeValue(forKey: origin) != nil, "removed, but never stored")
        case .nothing: break
        }
    }

    private func check(_ record: AlternativeServicesRecord) {
        precondition((1...8).contains(record.entries.count), "none, or too many")
        for entry in record.entries {
            precondition(
                entry.expires > now && entry.expires <= now + TimeLimits.standard.longestAlternativeLifetime,
                "over, or too long")
            precondition(entry.service.port > 0 && entry.service.host != "", "no place")
        }
    }
}
