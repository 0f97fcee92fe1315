/// The HTTP/3 alternatives in the `Alt-Svc` fields of a response (RFC 7838 §3). Alternatives of other protocols are
/// ignored.
///
/// The parser is lenient: it skips a malformed alternative up to the next comma outside quotes. A field without any
/// well-formed alternative is ignored. Parsing is linear in the length of the field.
package enum AlternativeServiceField: Sendable, Equatable {
    package struct Offer: Sendable, Equatable {
        package let service: AlternativeService
        /// In seconds since the response was generated, at most 2³¹.
        package let maximumAge: Int64

        package init(_ service: AlternativeService, maximumAge: Int64 = TimeLimits.standard.alternativeLifetime) {
            self.service = service
            self.maximumAge = maximumAge
        }
    }

    /// `clear`: all known alternatives of the origin are invalid.
    case clear
    /// Replaces all known alternatives of the origin. In the order of preference, without duplicates. Empty if the
    /// field has only alternatives of other protocols.
    case offers([Offer])

    /// Limits against oversized fields. Real fields have one or two alternatives.
    static let maximumOffers = 8
    static let maximumBytes = 8_192

    /// Returns nil if the field is absent or has no well-formed alternative.
    package init?(_ fields: HTTPFields) {
        guard fields.contains("Alt-Svc") else { return nil }
        self.init(fields.values("Alt-Svc"))
    }

    /// Parses the field values, which form one list.
    package init?(_ values: [String]) {
        if values.count == 1, OptionalWhitespace.trimmed(Array(values[0].utf8)).elementsEqual("clear".utf8) {
            self = .clear
            return
        }
        var offers: [Offer] = []
        var hasAlternative = false
        var left = Self.maximumBytes
        for value in values {
            // The value is skipped whole, because a truncated value could be misread.
            guard value.utf8.count <= left else { break }
            left -= value.utf8.count
            var reader = AlternativeServiceReader(value)
            while let alternative = reader.nextAlternative() {
                hasAlternative = true
                guard let offer = alternative.offer, offers.count < Self.maximumOffers,
                    !offers.contains(where: { $0.service.hasSameHostPort(as: offer.service) })
                else { continue }
                offers.append(offer)
            }
        }
        guard hasAlternative else { return nil }
        self = .offers(offers)
    }
}
