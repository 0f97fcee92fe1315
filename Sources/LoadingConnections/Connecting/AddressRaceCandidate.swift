/// What an `AddressRace` begins with an address: the first that comes through wins, and the others are closed.
protocol AddressRaceCandidate: AnyObject, SendableMetatype {
    func close()
}
