import LoadingTransport
import Testing

@testable import LoadingConnections

@Suite struct AddressCacheTests {
    private let address = SocketAddress(literal: "10.0.0.1", port: 0)
    private let four = AddressQuery("a", .ipv4)
    private let six = AddressQuery("a", .ipv6)

    private func found() throws -> AddressAnswer { .success([try #require(address)]) }

    // CONN-20
    @Test("an answer expires after half a minute") func anAnswerExpiresAfterHalfAMinute() throws {
        var memory = AddressCache()
        memory.remember(try found(), to: four, at: 1_000)
        #expect(memory.answer(to: four, at: 1_000) == (try found()))
        #expect(memory.answer(to: four, at: 30_000_000_999) == (try found()))
        #expect(memory.answer(to: four, at: 30_000_001_000) == nil)
        #expect(memory.answer(to: six, at: 1_000) == nil)
    }

    // CONN-9: a host without IPv6 is not asked for it at each connection
    @Test("a family without addresses is remembered beside one that has some", arguments: [-2, -5, -9] as [Int32])
    func aFamilyWithoutAddressesIsRememberedBesideOneThatHasSome(code: Int32) throws {
        var memory = AddressCache()
        let none = AddressAnswer.failure(NameFailure(code: code))
        memory.remember(none, to: six, at: 0)
        #expect(memory.answer(to: six, at: 0) == nil)
        memory.remember(try found(), to: four, at: 10)
        #expect(memory.answer(to: six, at: 20) == none)
        #expect(memory.answer(to: six, at: 30_000_000_000) == nil)
    }

    // CONN-14: a server that could not be asked has said nothing
    @Test("what was no answer is not remembered", arguments: [-3, -4, -11] as [Int32])
    func whatWasNoAnswerIsNotRemembered(code: Int32) throws {
        var memory = AddressCache()
        memory.remember(try found(), to: four, at: 0)
        memory.remember(.failure(NameFailure(code: code)), to: six, at: 0)
        #expect(memory.answer(to: six, at: 0) == nil)
        #expect(memory.count == 1)
    }

    // CONN-20
    @Test("a host is forgotten in both families") func aHostIsForgottenInBothFamilies() throws {
        var memory = AddressCache()
        for question in [four, six, AddressQuery("b", .ipv4)] { memory.remember(try found(), to: question, at: 0) }
        memory.forget("a")
        #expect([four, six].map { memory.answer(to: $0, at: 0) } == [nil, nil])
        #expect(memory.answer(to: AddressQuery("b", .ipv4), at: 0) == (try found()))
        memory.forgetAll()
        #expect(memory.count == 0)
    }

    // CONN-20: however many names a program asks for
    @Test("the memory is bounded, and what is oldest goes first") func theMemoryIsBoundedAndWhatIsOldestGoesFirst()
        throws
    {
        var memory = AddressCache()
        for index in 0..<10_000 {
            memory.remember(try found(), to: AddressQuery("h\(index)", .ipv4), at: Int64(index))
            #expect(memory.count <= 512)
        }
        #expect(memory.answer(to: AddressQuery("h9999", .ipv4), at: 10_000) == (try found()))
        #expect(memory.answer(to: AddressQuery("h9800", .ipv4), at: 10_000) == (try found()))
        #expect(memory.answer(to: AddressQuery("h9000", .ipv4), at: 10_000) == nil)
    }

    // CONN-20: all of one moment
    @Test("the memory is bounded though the clock does not advance")
    func theMemoryIsBoundedThoughTheClockDoesNotAdvance()
        throws
    {
        var memory = AddressCache()
        for index in 0..<1_100 { memory.remember(try found(), to: AddressQuery("h\(index)", .ipv4), at: 5) }
        #expect(memory.count <= 512)
        #expect(memory.answer(to: AddressQuery("h1099", .ipv4), at: 5) == (try found()))
    }
}
