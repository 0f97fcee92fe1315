import LoadingSemantics
import Testing

// TLS-4, RFC 5280 §4.1, X.690
@Suite struct CertificateEncodingTests {
    private typealias Parts = CertificateParts

    private func encoding(_ change: (inout CertificateParts) -> Void) -> CertificateEncoding? {
        CertificateEncoding(der: CertificateParts.with(change))
    }

    @Test("A minimal certificate is parsed")
    func least() {
        #expect(encoding { _ in } == CertificateEncoding())
        var first = CertificateEncoding()
        first.version = 1
        #expect(encoding { $0.version = [] } == first)
        #expect(encoding { $0.version = DER.element(0xA0, DER.integer(1)) }?.version == 2)
        #expect(encoding { $0.subject = DER.sequence() }?.hasSubject == false)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout CertificateParts) -> Void

        init(_ name: String, _ change: @escaping @Sendable (inout CertificateParts) -> Void) {
            testDescription = name
            self.change = change
        }
    }

    @Test(
        "Unusual but valid certificates",
        arguments: [
            Row("a serial number of 0") { $0.serial = DER.integer(0) },
            Row("a negative serial number") { $0.serial = DER.integer(0x80) },
            Row("a serial number of 37 octets") { $0.serial = DER.element(2, [UInt8](repeating: 1, count: 37)) },
            Row("an algorithm with parameters") { $0.algorithm = DER.sequence(DER.identifier(1), [5, 0]) },
            Row("unique identifiers") { $0.identifiers = DER.element(0x81, [0, 1]) + DER.element(0x82, [7, 0x80]) },
            Row("names of two attributes together") {
                $0.issuer = DER.sequence(Parts.attributes(Parts.attribute, Parts.attribute))
                $0.subject = DER.sequence(Parts.attributes(Parts.attribute), Parts.attributes(Parts.attribute))
            },
            Row("an empty bit string") { $0.signature = DER.bits(0) },
            Row("an extension that says that it is not critical") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(1, [0]), DER.element(4))]
            },
            Row("an unknown critical extension") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(1, [0xFF]), DER.element(4))]
            },
            Row("extensions of the first version") {
                $0.version = []
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(4))]
            },
            Row("a length of two octets") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(4, [UInt8](repeating: 0, count: 300)))]
            },
        ])
    func accepted(row: Row) {
        #expect(encoding(row.change) != nil)
    }

    @Test(
        "Invalid certificates",
        arguments: [
            Row("the first version by its number") { $0.version = DER.element(0xA0, DER.integer(0)) },
            Row("the fourth version") { $0.version = DER.element(0xA0, DER.integer(3)) },
            Row("a version of two octets") { $0.version = DER.element(0xA0, DER.integer(0, 2)) },
            Row("a version that is no number") { $0.version = DER.element(0xA0, DER.element(1, [2])) },
            Row("a version and more") { $0.version = DER.element(0xA0, DER.integer(2), DER.integer(2)) },
            Row("an empty version") { $0.version = DER.element(0xA0) },
            Row("no serial number") { $0.serial = [] },
            Row("an empty serial number") { $0.serial = DER.integer() },
            Row("a serial number of 38 octets") { $0.serial = DER.element(2, [UInt8](repeating: 1, count: 38)) },
            Row("an algorithm without a name") { $0.algorithm = DER.sequence() },
            Row("an algorithm with two parameters") {
                $0.algorithm = DER.sequence(DER.identifier(1), [5, 0], [5, 0])
            },
            Row("no outer algorithm") { $0.outerAlgorithm = [] },
            Row("an issuer that is no sequence") { $0.issuer = DER.element(0x31) },
            Row("an issuer of an empty set") { $0.issuer = DER.sequence(DER.element(0x31)) },
            // RFC 5280 §4.1.2.4: no attributes, but not encoded as empty
            Row("a subject of an empty set") { $0.subject = DER.sequence(DER.element(0x31)) },
            Row("a subject with an empty set in it") {
                $0.subject = DER.sequence(Parts.attributes(Parts.attribute), DER.element(0x31))
            },
            Row("a subject without sets") { $0.subject = DER.sequence(Parts.attribute) },
            Row("an attribute without a value") {
                $0.subject = DER.sequence(Parts.attributes(DER.sequence(DER.identifier(0x55, 4, 3))))
            },
            Row("an attribute without a name") {
                $0.subject = DER.sequence(Parts.attributes(DER.sequence(DER.text(12, "a"))))
            },
            Row("an attribute and more") {
                $0.subject = DER.sequence(
                    Parts.attributes(DER.sequence(DER.identifier(0x55, 4, 3), DER.text(12, "a"), [5, 0])))
            },
            Row("an attribute that is cut off") {
                $0.subject = DER.sequence(Parts.attributes([0x30, 3, 6, 1, 1, 12]))
            },
            Row("one time only") { $0.validity = DER.sequence(DER.text(0x17, "200101000000Z")) },
            Row("three times") {
                $0.validity = DER.sequence(DER.text(0x17, "1"), DER.text(0x17, "2"), DER.text(0x17, "3"))
            },
            Row("a time that is text") { $0.validity = DER.sequence(DER.text(12, "1"), DER.text(12, "2")) },
            Row("no key") { $0.key = [] },
            Row("a key without an algorithm") { $0.key = DER.sequence(DER.bits(0, 1)) },
            Row("a key and more") { $0.key = DER.sequence(Parts.algorithm, DER.bits(0, 1), [5, 0]) },
            Row("a key of nine unused bits") { $0.key = DER.sequence(Parts.algorithm, DER.bits(9, 1)) },
            Row("a signature of no octets") { $0.signature = DER.bits() },
            Row("a signature whose unused bits are not there") { $0.signature = DER.bits(1) },
            Row("a signature that is no bit string") { $0.signature = DER.element(4, [0, 1]) },
            Row("unique identifiers the other way round") {
                $0.identifiers = DER.element(0x82, [0, 1]) + DER.element(0x81, [0, 1])
            },
            Row("a unique identifier that is no bit string") { $0.identifiers = DER.element(0x81, [8]) },
            Row("something unknown at the end") { $0.identifiers = DER.element(0xA4) },
            Row("an empty list of extensions") { $0.identifiers = DER.element(0xA3, DER.sequence()) },
            Row("extensions that are no sequence") { $0.identifiers = DER.element(0xA3, DER.element(0x31)) },
            Row("extensions, and more in their place") {
                let list = DER.sequence(DER.sequence(DER.identifier(1), DER.element(4)))
                $0.identifiers = DER.element(0xA3, list, list)
            },
            Row("an extension without a name") { $0.extensions = [DER.sequence(DER.element(4))] },
            Row("an extension without a value") { $0.extensions = [DER.sequence(DER.identifier(1))] },
            Row("an extension and more") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(4), [5, 0])]
            },
            Row("a truth value that is neither") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(1, [1]), DER.element(4))]
            },
            Row("a truth value of two octets") {
                $0.extensions = [DER.sequence(DER.identifier(1), DER.element(1, [0xFF, 0xFF]), DER.element(4))]
            },
            Row("a critical extension that cannot be read") {
                $0.extensions = [Parts.usual(19, DER.integer(1), isCritical: true)]
            },
            Row("critical name constraints that cannot be read") {
                $0.extensions = [Parts.usual(30, DER.integer(1), isCritical: true)]
            },
        ])
    func refused(row: Row) {
        #expect(encoding(row.change) == nil)
    }

    // X.690 §10.1
    @Test("Lengths must be definite and minimal")
    func lengths() {
        let der = CertificateParts().der
        #expect(der[0] == 0x30 && der[1] < 0x80)
        let content = Array(der.dropFirst(2))
        for head in [[0x30, 0x81], [0x30, 0x82, 0], [0x30, 0x85, 0, 0, 0, 0]] as [[UInt8]] {
            #expect(CertificateEncoding(der: head + [UInt8(content.count)] + content) == nil)
        }
        #expect(CertificateEncoding(der: [0x30, 0x80] + content + [0, 0]) == nil)
        #expect(CertificateEncoding(der: [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF] + content) == nil)
        #expect(CertificateEncoding(der: [0x3F, 0x10, UInt8(content.count)] + content) == nil)
        #expect(CertificateEncoding(der: der + [0]) == nil)
        #expect(CertificateEncoding(der: [0x31] + der.dropFirst()) == nil)
    }

    @Test("Truncated and modified certificates do not trap")
    func noise() {
        let whole = CertificateParts.with {
            $0.extensions = [14, 15, 17, 19, 30, 31, 32, 33, 35, 36, 37, 54].map {
                Parts.usual($0, DER.sequence(DER.sequence(DER.integer(1))))
            }
        }
        for count in whole.indices { #expect(CertificateEncoding(der: Array(whole.prefix(count))) == nil) }
        for index in whole.indices {
            for value in [0, 0x30, 0x80, 0x84, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = value
                _ = CertificateEncoding(der: changed)
            }
        }
    }

    @Test("Extensions must be unique, known or not")
    func duplicates() {
        let unknown = DER.sequence(DER.identifier(0x2A, 9), DER.element(4, [1]))
        let other = DER.sequence(DER.identifier(0x2A, 9), DER.element(4, [2]))
        let key = Parts.usual(14, DER.element(4, [1]))
        #expect(encoding { $0.extensions = [unknown, key] } == CertificateEncoding())
        #expect(encoding { $0.extensions = [unknown, key, other] }?.hasDuplicateExtension == true)
        #expect(encoding { $0.extensions = [key, unknown, key] }?.hasDuplicateExtension == true)
    }

    private static let name = DER.text(0x82, "a.example")
    private static let names = DER.sequence(name)
    private static let policy = DER.identifier(0x2A, 3)

    // RFC 5280 §4.2
    @Test(
        "Valid extensions",
        arguments: [
            (14, DER.element(4, [1, 2])), (14, DER.element(4)), (15, DER.bits(7, 0x80)), (15, DER.bits(0, 1, 2)),
            (17, names), (17, DER.sequence(DER.text(0x86, "u:"), DER.element(0x87, [1]), DER.element(0xA0))),
            (17, DER.sequence(DER.element(0xA6, DER.text(0x16, "u:")))), (18, [1]), (19, DER.sequence()),
            (19, DER.sequence(DER.element(1, [0xFF]), DER.integer(0))), (19, DER.sequence(DER.integer(0, 0x80))),
            (30, DER.sequence()), (30, DER.sequence(DER.element(0xA0, DER.sequence(name)))),
            (30, DER.sequence(DER.element(0xA1, DER.sequence(name, DER.element(0x80, [0]))))),
            (31, DER.sequence(DER.sequence(DER.element(0xA0, DER.element(0xA0, name))))),
            (31, DER.sequence(DER.sequence(DER.element(0xA0, DER.element(0xA1)), DER.element(0x81, [0, 1])))),
            (31, DER.sequence(DER.sequence(DER.element(0xA2, name)))), (32, DER.sequence(DER.sequence(policy))),
            (32, DER.sequence(DER.sequence(policy, DER.sequence()), DER.sequence(policy))),
            (33, DER.sequence(DER.sequence(policy, policy))), (35, DER.sequence()),
            (35, DER.sequence(DER.element(0x80, [1]))),
            (35, DER.sequence(DER.element(0xA1, name), DER.element(0x82, [1]))), (36, DER.sequence()),
            (36, DER.sequence(DER.element(0x80, [0]), DER.element(0x81, [0x7F]))),
            (37, DER.sequence(policy, policy)), (54, DER.integer(0)), (54, DER.integer(0, 0xFF, 0xFF, 0xFF, 0xFF)),
        ] as [(UInt8, [UInt8])])
    func wellFormed(number: UInt8, value: [UInt8]) {
        for isCritical in [false, true] {
            let found = encoding { $0.extensions = [Parts.usual(number, value, isCritical: isCritical)] }
            #expect(found?.hasUnreadableExtension == false)
            #expect(found?.hasCriticalNames == (number == 17 && isCritical))
        }
    }

    @Test(
        "Malformed extensions",
        arguments: [
            (14, []), (14, DER.integer(1)), (14, DER.element(4) + [0]), (15, DER.bits(0)), (15, DER.bits(8, 1)),
            (15, DER.bits(0, 1, 2, 3)), (15, DER.bits(0, 1) + [0]), (17, DER.sequence()), (17, name),
            (17, DER.sequence(DER.element(0x89))), (17, DER.sequence(DER.element(0xA2))),
            (17, DER.sequence([0x82, 5])),
            (17, names + [0]), (19, DER.sequence(DER.element(1, [1]))), (19, DER.sequence(DER.integer(0xFF))),
            (19, DER.sequence(DER.integer(0, 1))), (19, DER.sequence(DER.integer(1, 0, 0, 0, 0))),
            (19, DER.sequence(DER.integer(0), DER.element(1, [0xFF]))), (30, DER.integer(1)),
            (30, DER.sequence(DER.element(0xA0))), (30, DER.sequence(DER.element(0xA0, name))),
            (30, DER.sequence(DER.element(0xA1, DER.sequence(name, DER.element(0x80, [1]))))),
            (30, DER.sequence(DER.element(0xA1, DER.sequence(name, DER.element(0x81, [1]))))),
            (30, DER.sequence(DER.element(0xA1, DER.sequence(name)), DER.element(0xA0, DER.sequence(name)))),
            (31, DER.sequence()), (31, DER.sequence(DER.sequence())),
            (31, DER.sequence(DER.sequence(DER.element(0xA0)))),
            (31, DER.sequence(DER.sequence(DER.element(0x81, [0, 1])))), (32, DER.sequence()),
            (32, DER.sequence(DER.sequence())), (32, DER.sequence(policy)), (33, DER.sequence()),
            (33, DER.sequence(DER.sequence(policy))), (35, DER.sequence(DER.element(0xA1, name))),
            (35, DER.sequence(DER.element(0x82, [1]))), (36, DER.sequence(DER.element(0x80))),
            (36, DER.sequence(DER.element(0x80, [0x80]))), (37, DER.sequence()), (37, DER.sequence(DER.integer(1))),
            (54, DER.integer()), (54, DER.integer(0x80)), (54, DER.sequence()),
        ] as [(UInt8, [UInt8])])
    func malformed(number: UInt8, value: [UInt8]) {
        #expect(encoding { $0.extensions = [Parts.usual(number, value)] }?.hasUnreadableExtension == true)
        #expect(encoding { $0.extensions = [Parts.usual(number, value, isCritical: true)] } == nil)
    }

    // RFC 5280 §4.2.2.1
    @Test("An access location is a URI")
    func access() {
        func isReadable(_ method: UInt8, _ place: [UInt8]) -> Bool? {
            let value = DER.sequence(DER.sequence(DER.identifier(0x2B, 6, 1, 5, 5, 7, 0x30, method), place))
            let name = DER.identifier(0x2B, 6, 1, 5, 5, 7, 1, 1)
            return encoding { $0.extensions = [DER.sequence(name, DER.element(4, value))] }
                .map { !$0.hasUnreadableExtension }
        }
        for method in [1, 2] as [UInt8] {
            #expect(isReadable(method, DER.text(0x86, "http://a.example")) == true)
            #expect(isReadable(method, DER.element(0xA4)) == false)
            #expect(isReadable(method, []) == false)
        }
        #expect(isReadable(3, DER.element(0xA4)) == true)
        #expect(isReadable(3, DER.integer(1)) == false)
    }

    // RFC 5280 §4.2.1.10
    @Test("Excluded names, and unsupported constraints")
    func constraints() {
        func constraints(_ isCritical: Bool, _ permitted: [UInt8], _ excluded: [UInt8]) -> [String]? {
            let value = DER.sequence(
                DER.element(0xA0, DER.sequence(permitted)), DER.element(0xA1, DER.sequence(excluded)))
            let found = encoding { $0.extensions = [Parts.usual(30, value, isCritical: isCritical)] }?.constraints
            return found.map {
                $0.excludedHosts.map { String(decoding: $0, as: UTF8.self) } + ($0.isUnsupported ? ["unsupported"] : [])
            }
        }
        #expect(constraints(true, Self.name, DER.text(0x82, "B.Example")) == ["b.example"])
        for tag in [0x81, 0x86, 0x87, 0xA4] as [UInt8] {
            #expect(constraints(true, DER.element(tag), Self.name) == ["a.example"])
        }
        for tag in [0xA0, 0xA3, 0xA5, 0x88] as [UInt8] {
            #expect(constraints(true, DER.element(tag), Self.name) == ["a.example", "unsupported"])
            #expect(constraints(false, DER.element(tag), Self.name) == ["a.example"])
            #expect(constraints(true, Self.name, DER.element(tag)) == ["unsupported"])
        }
    }
}
