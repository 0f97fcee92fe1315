/// What the `Alt-Svc` fields of a response say (RFC 7838 §3), of which only HTTP/3 matters here: who speaks anything else
/// is reached by TCP where the origin is.
///
/// What cannot be read is skipped up to the next comma outside quotes, which keeps the damage to one alternative. A field
/// of which nothing can be read says nothing. Everything is read in one pass.
package enum AlternativeServiceField: Sendable, Equatable {
    package struct Offer: Sendable, Equatable {
        package let service: AlternativeService
        /// In seconds since the response was made, at most 2³¹.
        package let maximumAge: Int64

        package init(_ service: AlternativeService, maximumAge: Int64 = TimeLimits.standard.alternativeLifetime) {
            self.service = service
            self.maximumAge = maximumAge
        }
    }

    /// Nothing that was said before counts any more.
    case clear
    /// In position of all that was said before. In the order of preference, each once; maybe none, since the origin may have
    /// named none that speaks HTTP/3.
    case offers([Offer])

    /// No more alternatives than these are taken, and no more bytes are looked at: nobody has as many.
    static let mostOffers = 8
    static let mostBytes = 8_192

    /// Nil if there is no such field, or none that can be read.
    package init?(_ fields: HTTPFields) {
        guard fields.contains("Alt-Svc") else { return nil }
        self.init(fields.values("Alt-Svc"))
    }

    /// Reads the values of the fields, which are one list.
    package init?(_ values: [String]) {
        if values.count == 1, OptionalWhitespace.trimmed(Array(values[0].utf8)).elementsEqual("clear".utf8) {
            self = .clear
            return
        }
        var offers: [Offer] = []
        var hasAlternative = false
        var left = Self.mostBytes
        for value in values {
            // What is cut off could have been half of something.
            guard value.utf8.count <= left else { break }
            left -= value.utf8.count
            var reader = AlternativeServiceReader(value)
            while let alternative = reader.nextAlternative() {
                hasAlternative = true
                guard let offer = alternative.offer, offers.count < Self.mostOffers,
                    !offers.contains(where: { $0.service.hasSameHostPort(as: offer.service) })
                else { continue }
                offers.append(offer)
            }
        }
        guard hasAlternative else { return nil }
        self = .offers(offers)
    }
}
